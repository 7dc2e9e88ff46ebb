"""What a server says while its store is full, away, or silent, and that nothing acknowledged is lost."""

import os
import signal
import subprocess
import time

import cluster
import pytest
from support import wait_until

DISK_MB = 6
BALLAST_MB = 3


@pytest.fixture
def small_disk(tmp_path):
    """A file system of DISK_MB that this machine's other processes do not see, and the prefix of a
    command that is to see it."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = f'mount -t tmpfs -o size={DISK_MB}m none "{place}" && exec "$@"'
    prefix = [
        *("unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])),
        *("sh", "-c", mount, "sh"),
    ]
    probe = subprocess.run([*prefix, "true"], capture_output=True, text=True, check=False)
    if probe.returncode != 0:
        pytest.skip(f"no small file system to be had: {probe.stderr.strip()}")
    return place, prefix


def padded(name):
    """An evaluation of some KB: the disk is full after a few hundred."""
    body = cluster.evaluation(name)
    body["candidate"]["source"] += f"/* {'x' * 12000} */\n"
    return body


def submit_until_refused(service, most):
    taken = []
    for i in range(most):
        status, answer, headers = service.look("POST", "/v1/evaluations", padded(f"n{i}"))
        if status not in (200, 202):
            return taken, status, answer, headers
        taken.append(f"n{i}")
    raise AssertionError(f"{most} were taken")


def test_a_full_disk(make, small_disk):
    """503 and when to come again; what was taken stays; with room again it goes on by itself."""
    place, prefix = small_disk
    service = make("sqlite", place=place, prefix={"server0": prefix})
    inside = f"/proc/{service.processes['server0'].pid}/root{place}"
    with open(f"{inside}/ballast", "wb") as ballast:
        ballast.write(bytes(BALLAST_MB << 20))
    taken, status, answer, headers = submit_until_refused(service, 2000)
    assert len(taken) > 5
    assert status == 503 and int(headers["Retry-After"]) > 0, answer
    assert "full" in answer["error"]["message"], answer
    for name in (taken[0], taken[-1]):
        assert service.request("GET", f"/v1/evaluations/{name}")[1]["state"] == "queued"
    os.unlink(f"{inside}/ballast")
    wait_until(
        lambda: service.request("POST", "/v1/evaluations", padded("after"))[0] == 202, "room again"
    )
    for name in [*taken, "after"]:
        status, answer = service.request("GET", f"/v1/evaluations/{name}")
        assert status == 200 and answer["state"] == "queued", (name, answer)


def test_redis_goes_away(make):
    """It is refused, or waited for, within its time; a client that waits gets its verdict afterwards."""
    service = make("redis", servers=1, workers=1)
    service.begin_endless("slow", "3s")
    service.kill("redis")
    status, answer, headers = service.look("POST", "/v1/evaluations", cluster.evaluation("refused"))
    assert status == 503 and int(headers["Retry-After"]) > 0, answer
    assert service.request("GET", "/ready")[0] == 503
    assert service.request("GET", "/health")[0] == 503
    service.start("redis")
    _, answer = service.insist("GET", "/v1/evaluations/slow?wait_s=60")
    assert answer["outcome"] == "timeout", answer
    assert service.insist("GET", "/ready")[0] == 200
    _, answer = service.insist("POST", "/v1/evaluations?wait_s=60", cluster.evaluation("next"))
    assert answer["outcome"] == "passed", answer


def test_redis_falls_silent(make):
    """It holds the connection and says nothing: no request hangs."""
    service = make("redis", servers=1, workers=1)
    before = cluster.evaluation("before")
    assert service.request("POST", "/v1/evaluations?wait_s=60", before)[1]["outcome"] == "passed"
    worker = lambda: service.request("GET", "/health", server="worker0")[0]
    assert worker() == 200
    silent = service.processes["redis"]
    silent.send_signal(signal.SIGSTOP)
    try:
        started = time.monotonic()
        status, answer = service.request("GET", "/v1/evaluations?limit=5")
        assert status == 503, answer
        assert service.request("GET", "/ready")[0] == 503
        assert time.monotonic() - started < cluster.START_S
        wait_until(lambda: worker() == 503, "the worker says that its queue is silent")
    finally:
        silent.send_signal(signal.SIGCONT)
    _, answer = service.insist("GET", "/v1/evaluations/before")
    assert answer["outcome"] == "passed", answer
    wait_until(lambda: worker() == 200, "it is heard again")
