"""The environments of python/warpgym with the packages that they are for (tests/envs), against
`warpgym serve` with a fake worker whose candidates prescribe their verdicts.

The packages are in .venv-gym; each is tried by a Python of its own. SkyRL's generator and prime-rl
are tried where they are:

    export WARPGYM_TEST_SKYRL=CHECKOUT           # of NovaSky-AI/SkyRL
    export WARPGYM_TEST_SKYRL_GYM_PYTHON=PYTHON  # with "./python[skyrl]", pytest, and what its
        # generator imports: torch, transformers, loguru, aiohttp, pybase64
    export WARPGYM_TEST_PRIME_RL=CHECKOUT        # of PrimeIntellect-ai/prime-rl
    export WARPGYM_TEST_PRIME_RL_PYTHON=PYTHON   # 3.12, with "./python[verifiers]", pytest, and
        # what its orchestrator imports: torch, transformers, loguru, msgspec, wandb, setproctitle
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


LIMIT_S = 1200  # each check of prime-rl starts processes that import PyTorch
ELSEWHERE = {
    "skyrl_generator": ("WARPGYM_TEST_SKYRL", "WARPGYM_TEST_SKYRL_GYM_PYTHON", ["."]),
    "prime_rl": (
        "WARPGYM_TEST_PRIME_RL",
        "WARPGYM_TEST_PRIME_RL_PYTHON",
        ["src", "packages/prime-rl-configs/src"],
    ),
}


@pytest.mark.time_limit(times=3)
@pytest.mark.parametrize("name", ELSEWHERE)
def test_with_a_checkout(name, server, tmp_path):
    *variables, folders = ELSEWHERE[name]
    checkout, python = (os.environ.get(variable, "") for variable in variables)
    if not (checkout and python):
        pytest.skip(f"no checkout: {' and '.join(variables)} name none")
    paths = [os.path.join(checkout, folder) for folder in folders]
    path = os.pathsep.join([*paths, str(ROOT / "python")])
    out = gym_packages.run_checks(
        [f"tests/envs/{name}_checks.py"],
        server.warpgym.environment,
        {"TEST_GYM_URL": server.url, "PYTHONPATH": path},
        tmp_path,
        python=python,
        limit_s=LIMIT_S,
    )
    assert " skipped" not in out, out[-2000:]
