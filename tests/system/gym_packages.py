"""Lists of checks (tests/*/NAME_checks.py) that need packages of .venv-gym: each is run by a Python
of its own."""

import os
import subprocess

import pytest
import support

GYM = support.ROOT / ".venv-gym"


def run_checks(
    paths, environment, variables, basetemp, *, python=GYM / "bin" / "python", limit_s=None
):
    """Fails with what pytest said; skips where packages are away."""
    if not (GYM / "requirements.sha256").is_file():
        pytest.skip("no .venv-gym: ./setup.sh gym makes it, or says why it cannot")
    dropped = ("WARPGYM_", "PYTHON", "PYTEST_")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(dropped)}
    own = {
        "HOME": environment["HOME"],
        "TMPDIR": environment["TMPDIR"],
        "PYTHONPATH": str(support.ROOT / "python"),
        "PYTHONPYCACHEPREFIX": str(GYM / "pycache"),  # thousands of files to compile
        "HF_HUB_OFFLINE": "1",
        "TORCHINDUCTOR_CACHE_DIR": str(basetemp / "inductor"),
    }
    options = ["-q", "-rs", "--tb=short", "-p", "no:cacheprovider", "--basetemp", basetemp / "own"]
    run = subprocess.run(
        [python, "-m", "pytest", *options, *paths],
        check=False,
        env=kept | own | variables,
        cwd=support.ROOT,
        capture_output=True,
        text=True,
        timeout=limit_s or support.TIMEOUT_S * len(paths),
    )
    if run.returncode == 5 and "SKIPPED" in run.stdout:
        pytest.skip(run.stdout.split("SKIPPED", 1)[1].splitlines()[0])
    assert run.returncode == 0, run.stdout[-8000:] + run.stderr[-2000:]
    return run.stdout


def run_own_checks(paths, warpgym, tmp_path, **options):
    """Checks of ours that find the command and the test programs by these two variables."""
    programs = {
        "TEST_WARPGYM": str(support.WARPGYM),
        "TEST_BUILD": str(support.WARPGYM.parent / "build" / "tests"),
    }
    (tmp_path / "checks").mkdir()
    out = run_checks(paths, warpgym.environment, programs, tmp_path / "checks", **options)
    assert " skipped" not in out, out[-2000:]
