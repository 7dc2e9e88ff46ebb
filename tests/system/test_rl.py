"""What training writes, against the packages that read it (tests/rl).

The packages are in .venv-gym, and its Python runs the checks.
"""

import gym_packages


def test_with_tensorboard(warpgym, tmp_path):
    checks = ["tests/rl/tensorboard_checks.py", "tests/rl/run_checks.py"]
    gym_packages.run_own_checks(checks, warpgym, tmp_path)
