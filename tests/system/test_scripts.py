"""scripts/test: a test that hangs is stopped by its own limit and named, and the others go on."""

import os
import re
import subprocess

import pytest
from support import ROOT, write

PROGRAM = """#!/bin/sh
echo '[ RUN      ] test_quick'
echo '[       OK ] test_quick'
echo '[ RUN      ] test_{name}'
{body}
echo '[  PASSED  ] 2 test(s).'
"""
# The path of tests/system, where the hooks are.
CONFTEST = (
    "import sys\nsys.path.insert(0, {system!r})\nfrom schedule import *\nfrom time_limit import *\n"
)
MODULE = """import signal, time, pytest

def test_before():
    pass

@pytest.fixture
def slow_to_end():
    yield
    time.sleep(600)

{hanging}

@pytest.mark.time_limit(times=100)
def test_allowed():
    time.sleep(3)

def test_after():
    pass
"""
SLEEPS = "def test_sleeps():\n    time.sleep(600)\n"
ENDS_SLOWLY = "def test_ends_slowly(slow_to_end):\n    pass\n"
STUCK = """def test_stuck():
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
    time.sleep(600)
"""


@pytest.fixture
def scripts_test(tmp_path):
    """Runs it over the programs and modules given: its status and what it printed."""

    def run(*options, programs=(), modules=(), **variables):
        write(tmp_path / "system" / "conftest.py", CONFTEST.format(system=f"{ROOT}/tests/system"))
        for name, text in modules:
            write(tmp_path / "system" / f"test_{name}.py", text)
        paths = [tmp_path / "build" / "tests" / name for name, _ in programs]
        for path, (_, text) in zip(paths, programs, strict=True):
            write(path, text)
            path.chmod(0o755)
        environment = {key: value for key, value in os.environ.items() if "PYTEST" not in key}
        environment |= {
            "SYSTEM_TESTS": str(tmp_path / "system"),
            "TEST_JOBS": "2",
            "COLUMNS": "200",
        }
        environment |= variables
        command = [ROOT / "scripts" / "test", *options, tmp_path, *paths]
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=300, check=False
        )
        return done.returncode, done.stdout

    return run


GOOD = ("good", PROGRAM.format(name="good", body=""))
HANGING = ("hanging", PROGRAM.format(name="of_waiting", body="exec sleep 600"))


def test_units_only(scripts_test):
    status, out = scripts_test("--units", programs=[GOOD])
    assert status == 0
    assert out.splitlines()[-1] == "cmocka: 2 passed, 0 failed"


def test_hanging_unit_test_is_named(scripts_test):
    status, out = scripts_test("--units", programs=[HANGING, GOOD], TEST_SECONDS="1")
    assert status == 1
    assert re.search(r"hanging: still running after 1 s, in test_of_waiting\n", out)
    assert out.splitlines()[-1] == "cmocka: 2 passed, 1 failed"


@pytest.mark.parametrize("jobs", [1, 2])
def test_hanging_system_tests_are_named(scripts_test, jobs):
    modules = [
        ("sleeping", MODULE.format(hanging=SLEEPS)),
        ("slow", MODULE.format(hanging=ENDS_SLOWLY)),
        ("stuck", MODULE.format(hanging=STUCK)),
    ]
    status, out = scripts_test(
        programs=[GOOD], modules=modules, SYSTEM_SECONDS="2", TEST_JOBS=str(jobs)
    )
    assert status == 1
    assert re.search(r"FAILED .*::test_sleeps - Failed: still running after 2 s", out), out
    assert re.search(r"ERROR .*::test_ends_slowly - Failed: still running after 2 s", out), out
    assert re.search(r"worker 'gw\d' crashed while running '.*::test_stuck'", out), out
    assert re.search(r"^  File .* in test_stuck$", out, re.MULTILINE), out
    counts, pytest_counts = out.splitlines()[-2:]
    assert counts == "cmocka: 2 passed, 0 failed"
    assert re.match(r"pytest: 2 failed, 10 passed, 1 error in ", pytest_counts)
