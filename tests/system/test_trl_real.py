"""TRL's own trainers with python/warpgym/trl.py, where WARPGYM_TEST_TRL_PYTHON names a Python that
has trl, transformers, datasets, jmespath and pytest."""

import os

import gym_packages
import pytest

PYTHON = os.environ.get("WARPGYM_TEST_TRL_PYTHON", "")
LIMIT_S = 1200


@pytest.mark.time_limit(times=3)
@pytest.mark.skipif(
    not PYTHON, reason="no TRL: WARPGYM_TEST_TRL_PYTHON names no Python that has it"
)
def test_trainers(warpgym, tmp_path):
    gym_packages.run_own_checks(
        ["tests/envs/trl_trainer_checks.py"], warpgym, tmp_path, python=PYTHON, limit_s=LIMIT_S
    )
