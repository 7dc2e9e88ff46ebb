"""What training writes, against the packages that read it (tests/rl).

The packages are in .venv-gym, and its Python runs the checks.
"""

import gym_packages
import pytest


def test_with_tensorboard(warpgym, tmp_path):
    checks = ["tests/rl/tensorboard_checks.py", "tests/rl/run_checks.py"]
    gym_packages.run_own_checks(checks, warpgym, tmp_path)


@pytest.mark.time_limit(times=3)
def test_with_trackers(warpgym, tmp_path):
    gym_packages.run_own_checks(["tests/rl/tracker_checks.py"], warpgym, tmp_path)
