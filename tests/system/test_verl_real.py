"""verl's own agent loop workers, estimators and trainer with python/warpgym/verl_*.py, where
WARPGYM_TEST_VERL_PYTHON names a Python that has what `pip install "./python[verl]" pytest`
brings."""

import os

import gym_packages
import pytest

PYTHON = os.environ.get("WARPGYM_TEST_VERL_PYTHON", "")
LIMIT_S = 1200
CHECKS = ["extra", "agent", "trainer", "queue", "learn"]


@pytest.mark.time_limit(times=3)
@pytest.mark.skipif(
    not PYTHON, reason="no verl: WARPGYM_TEST_VERL_PYTHON names no Python that has it"
)
@pytest.mark.parametrize("checks", CHECKS)
def test_with_verl(checks, warpgym, tmp_path):
    gym_packages.run_own_checks(
        [f"tests/envs/verl_{checks}_checks.py"], warpgym, tmp_path, python=PYTHON, limit_s=LIMIT_S
    )
