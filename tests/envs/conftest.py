"""What tests/system/test_envs.py runs in .venv-gym, one module for each package that we serve.

The server is that of TEST_GYM_URL (a real one, whose candidates prescribe their verdicts), or the
one of tests/system/gym_server.py.
"""

import os
import runpy
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / "examples"
sys.path[:0] = [str(HERE.parents[1] / "python"), str(HERE.parent / "system")]

from gym_server import GymServer  # noqa: E402


@pytest.fixture(scope="session")
def url():
    given = os.environ.get("TEST_GYM_URL")
    if given:
        yield given
        return
    with GymServer() as server:
        yield server.url


@pytest.fixture
def faulty():
    """The server that fails on demand."""
    with GymServer() as server:
        yield server


@pytest.fixture
def example(monkeypatch, capsys):
    """Runs a file of examples/ as a person would: what it printed."""

    def run(name, *arguments):
        monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
        return capsys.readouterr().out

    return run
