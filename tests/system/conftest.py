"""Fixtures of the system tests: warpgym in an environment of its own, checked for leftovers."""

import contextlib
import os
import subprocess
from unittest import mock

import pytest
import serving
from schedule import *  # noqa: F403 (hooks)
from support import WARPGYM, Warpgym, write
from time_limit import *  # noqa: F403 (hooks)


def pytest_sessionstart(session):
    if not WARPGYM.is_file():
        pytest.exit(f"{WARPGYM} is missing: run make first", returncode=1)


# Begun first, these don't come last, with one worker left to wait for.
LONGEST = [
    *("test_extension.py", "test_hacks.py", "test_torch_gpu.py", "test_suite.py"),
    *("test_cluster.py", "test_device_only.py", "test_envs.py", "test_faults.py", "test_stores.py"),
    *("test_lm.py", "test_train.py", "test_train_tinker.py", "test_torch_gpu_beside.py"),
]


def pytest_collection_modifyitems(items):
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path.name, len(LONGEST)))


@pytest.fixture(autouse=True)
def own_environment():
    """What a test, or code of ours that it calls, sets in this process ends with the test."""
    with mock.patch.dict(os.environ):
        yield


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    """Builds and measurements that tests share: no verdict depends on them."""
    base = tmp_path_factory.getbasetemp()
    # Each worker of pytest-xdist has its own folder inside the shared one.
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "cache"
    shared.mkdir(exist_ok=True)
    return shared


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
    """`warpgym serve` with a fake worker whose jobs prescribe its verdicts."""
    with serving.serving(warpgym) as running:
        yield running


@pytest.fixture
def idle(warpgym):
    """Without a worker: submitted jobs stay queued."""
    with serving.serving(warpgym, worker=False) as running:
        yield running


@contextlib.contextmanager
def disk_of(size, folder):
    write(folder / "x", "")
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "warpgym-test", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("cannot mount a small file system here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture
def full_disk(tmp_path):
    """A folder on a file system of 8 KB, half of which is taken."""
    with disk_of("8k", tmp_path / "disk") as folder:
        (folder / "filler").write_bytes(b"x" * 4096)
        yield folder


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 32 MB, for tests that fill it."""
    with disk_of("32m", tmp_path / "disk") as folder:
        yield folder
