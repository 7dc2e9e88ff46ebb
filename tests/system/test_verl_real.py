"""verl's own agent loop workers, estimators and trainer with python/warpgym/verl_*.py, where
WARPGYM_TEST_VERL_PYTHON names a Python that has verl with hydra-core, torchdata, pylatexenc,
pybind11, TransferQueue and pytest."""

import os
import subprocess

import pytest
import support

PYTHON = os.environ.get("WARPGYM_TEST_VERL_PYTHON", "")
LIMIT_S = 1200


@pytest.mark.parametrize("checks", ["verl_agent_checks.py", "verl_trainer_checks.py"])
def test_with_verl(checks, tmp_path):
    if not PYTHON:
        pytest.skip("no verl: WARPGYM_TEST_VERL_PYTHON names no Python that has it")
    variables = {"PYTHONPATH": str(support.ROOT / "python"), "HF_HUB_OFFLINE": "1"}
    run = subprocess.run(
        [PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--basetemp", tmp_path / "own"]
        + [f"tests/envs/{checks}"],
        check=False,
        env=os.environ | variables,
        cwd=support.ROOT,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )
    assert run.returncode == 0, run.stdout[-8000:] + run.stderr[-2000:]
    assert " skipped" not in run.stdout
