"""The environments of python/warpgym with the packages that they are for (tests/envs), against
`warpgym serve` with a fake worker whose candidates prescribe their verdicts.

The packages are in .venv-gym; each is tried by a Python of its own.
"""

import os

import gym_packages
import pytest
from support import ROOT

PACKAGES = ("datasets", "gymnasium", "openenv", "verifiers", "verl")


def python_path(package):
    # What is not for the others: python/requirements-verifiers.txt.
    own = gym_packages.GYM / package
    return os.pathsep.join(str(path) for path in (own, ROOT / "python") if path.is_dir())


@pytest.mark.parametrize("package", PACKAGES)
def test_with(package, server, tmp_path):
    variables = {"TEST_GYM_URL": server.url, "PYTHONPATH": python_path(package)}
    checks = f"tests/envs/{package}_checks.py"
    gym_packages.run_checks([checks], server.warpgym.environment, variables, tmp_path)
