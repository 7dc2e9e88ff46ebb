"""The environments of python/warpgym with the packages that they are for (tests/envs), against
`warpgym serve` with a fake worker whose candidates prescribe their verdicts.

The packages are in .venv-gym; each is tried by a Python of its own. SkyRL's generator is tried
where SkyRL is:

    export WARPGYM_TEST_SKYRL=CHECKOUT           # of NovaSky-AI/SkyRL
    export WARPGYM_TEST_SKYRL_GYM_PYTHON=PYTHON  # with what SkyRL imports, and pytest
"""

import os

import gym_packages
import pytest
from support import ROOT

PACKAGES = (
    "datasets", "gymnasium", "openenv", "skyrl", "tinker_cookbook", "trl", "verifiers",
    "verl",
)  # fmt: skip


def python_path(package):
    # What is not for the others: python/requirements-verifiers.txt.
    own = gym_packages.GYM / package
    return os.pathsep.join(str(path) for path in (own, ROOT / "python") if path.is_dir())


@pytest.mark.parametrize("package", PACKAGES)
def test_with(package, server, tmp_path):
    variables = {"TEST_GYM_URL": server.url, "PYTHONPATH": python_path(package)}
    checks = f"tests/envs/{package}_checks.py"
    gym_packages.run_checks([checks], server.warpgym.environment, variables, tmp_path)


def test_with_skyrls_generator(server, tmp_path):
    checkout = os.environ.get("WARPGYM_TEST_SKYRL", "")
    python = os.environ.get("WARPGYM_TEST_SKYRL_GYM_PYTHON", "")
    if not (checkout and python):
        names = "WARPGYM_TEST_SKYRL and WARPGYM_TEST_SKYRL_GYM_PYTHON"
        pytest.skip(f"no SkyRL: {names} name none")
    path = os.pathsep.join((checkout, str(ROOT / "python")))
    variables = {"TEST_GYM_URL": server.url, "PYTHONPATH": path}
    checks = ["tests/envs/skyrl_generator_checks.py"]
    environment = server.warpgym.environment
    out = gym_packages.run_checks(checks, environment, variables, tmp_path, python=python)
    assert " skipped" not in out, out[-2000:]
