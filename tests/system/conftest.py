"""Fixtures of the system tests: warpgym in an environment of its own, checked for leftovers."""

import os
from unittest import mock

import pytest
import serving
from support import WARPGYM, Warpgym


def pytest_sessionstart(session):
    if not WARPGYM.is_file():
        pytest.exit(f"{WARPGYM} is missing: run make first", returncode=1)


@pytest.fixture(autouse=True)
def own_environment():
    """What a test, or code of ours that it calls, sets in this process ends with the test."""
    with mock.patch.dict(os.environ):
        yield


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    """Builds and measurements that tests may share: nobody's verdict depends on them."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def warpgym(tmp_path, cache):
    runner = Warpgym(tmp_path, cache)
    yield runner
    runner.check_nothing_left()


@pytest.fixture(scope="module")
def module_warpgym(tmp_path_factory, cache):
    """For runs whose verdicts several tests look at."""
    runner = Warpgym(tmp_path_factory.mktemp("module"), cache)
    yield runner
    runner.check_nothing_left()


@pytest.fixture
def server(warpgym):
    """`warpgym serve` with a worker that does as its jobs tell it."""
    with serving.serving(warpgym) as running:
        yield running


@pytest.fixture
def idle(warpgym):
    """Nobody works: what is put stays queued."""
    with serving.serving(warpgym, worker=False) as running:
        yield running
