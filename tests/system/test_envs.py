"""The environments of python/warpgym with the packages that they are for (tests/envs), against
`warpgym serve` with a worker that does as the candidates tell it.

The packages are in .venv-gym; each is tried by a Python of its own.
"""

import os
import subprocess

import pytest
from support import ROOT, TIMEOUT_S

GYM = ROOT / ".venv-gym"
PACKAGES = ("datasets", "gymnasium", "openenv", "verifiers", "verl")


def python_path(package):
    own = GYM / package  # what is not for the others (python/requirements-verifiers.txt)
    return os.pathsep.join(str(path) for path in (own, ROOT / "python") if path.is_dir())


@pytest.mark.parametrize("package", PACKAGES)
def test_with(package, server):
    if not (GYM / "requirements.sha256").is_file():
        pytest.skip("no .venv-gym: ./setup.sh gym makes it, or says why it cannot")
    variables = {
        "TEST_GYM_URL": f"http://127.0.0.1:{server.port}",
        "HOME": server.warpgym.environment["HOME"],
        "PYTHONPATH": python_path(package),
        "PYTHONPYCACHEPREFIX": str(GYM / "pycache"),  # verl alone is thousands of files to compile
        "HF_HUB_OFFLINE": "1",
    }
    dropped = ("WARPGYM_", "PYTHON", "PYTEST_")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(dropped)}
    pytest_ = [GYM / "bin" / "python", "-m", "pytest", "-q", "-rs", "--tb=short"]
    run = subprocess.run(
        [*pytest_, "-p", "no:cacheprovider", f"tests/envs/{package}_checks.py"],
        check=False,
        env=kept | variables,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    if run.returncode == 5 and "SKIPPED" in run.stdout:
        pytest.skip(run.stdout.split("SKIPPED", 1)[1].splitlines()[0])
    assert run.returncode == 0, run.stdout[-8000:] + run.stderr[-2000:]
