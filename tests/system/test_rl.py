"""What training writes, against the packages that read it (tests/rl).

The packages are in .venv-gym; each list of checks is run by a Python of its own.
"""

import gym_packages
import pytest

CHECKS = ("tensorboard", "run")


@pytest.mark.parametrize("checks", CHECKS)
def test_with(checks, warpgym, tmp_path):
    gym_packages.run_own_checks(f"tests/rl/{checks}_checks.py", warpgym, tmp_path)
