"""What training writes, against the packages that read it (tests/rl).

The packages are in .venv-gym; each list of checks is run by a Python of its own.
"""

import os
import subprocess

import pytest
import support

GYM = support.ROOT / ".venv-gym"
CHECKS = ("tensorboard", "run")


@pytest.mark.parametrize("checks", CHECKS)
def test_with(checks, warpgym, tmp_path):
    if not (GYM / "requirements.sha256").is_file():
        pytest.skip("no .venv-gym: ./setup.sh gym makes it, or says why it cannot")
    variables = {
        "TEST_WARPGYM": str(support.WARPGYM),
        "TEST_BUILD": str(support.WARPGYM.parent / "build" / "tests"),
        "HOME": warpgym.environment["HOME"],
        "TMPDIR": warpgym.environment["TMPDIR"],
        "PYTHONPATH": str(support.ROOT / "python"),
        "PYTHONPYCACHEPREFIX": str(GYM / "pycache"),
    }
    dropped = ("WARPGYM_", "PYTHON", "PYTEST_")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(dropped)}
    pytest_ = [GYM / "bin" / "python", "-m", "pytest", "-q", "-rs", "--tb=short"]
    options = ["-p", "no:cacheprovider", f"--basetemp={tmp_path / 'checks'}"]
    run = subprocess.run(
        [*pytest_, *options, f"tests/rl/{checks}_checks.py"],
        check=False,
        env=kept | variables,
        cwd=support.ROOT,
        capture_output=True,
        text=True,
        timeout=support.TIMEOUT_S,
    )
    assert run.returncode == 0, run.stdout[-8000:] + run.stderr[-2000:]
    assert " skipped" not in run.stdout, run.stdout[-2000:]
