"""TRL's own trainers with python/warpgym/trl.py, where WARPGYM_TEST_TRL_PYTHON names a Python that
has trl, transformers, datasets, jmespath and pytest."""

import os
import subprocess

import pytest
import support

PYTHON = os.environ.get("WARPGYM_TEST_TRL_PYTHON", "")
LIMIT_S = 1200


def test_trainers(tmp_path):
    if not PYTHON:
        pytest.skip("no TRL: WARPGYM_TEST_TRL_PYTHON names no Python that has it")
    variables = {"PYTHONPATH": str(support.ROOT / "python"), "HF_HUB_OFFLINE": "1"}
    run = subprocess.run(
        [PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--basetemp", tmp_path / "own"]
        + ["tests/envs/trl_trainer_checks.py"],
        check=False,
        env=os.environ | variables,
        cwd=support.ROOT,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )
    assert run.returncode == 0, run.stdout[-8000:] + run.stderr[-2000:]
    assert " skipped" not in run.stdout
