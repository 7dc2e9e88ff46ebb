"""python/warpgym/client against a server that the test scripts, and as an installed package."""

import asyncio
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import threading

import pytest
from support import CHECKOUT, PYTHON, ROOT, wait_until
from v1_server import Server, plain_verdict

sys.path.insert(0, str(CHECKOUT / "python"))

from warpgym.client import (  # noqa: E402
    AsyncClient,
    Client,
    Error,
    NotFound,
    ProtocolError,
    Refused,
    Unreachable,
    native_problem,
    request,
    simple_problem,
    torch_problem,
)

pytestmark = pytest.mark.usefixtures("no_variables")


@pytest.fixture
def no_variables(monkeypatch):
    for name in ("WARPGYM_CLIENT_URL", "WARPGYM_CLIENT_TOKEN", "WARPGYM_TOKEN"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server():
    with Server() as one:
        yield one


class Blocking:
    """Calls a method of the client that blocks."""

    def __init__(self, url, **options):
        self.gym = Client(url, **options)

    def __call__(self, name, /, *arguments, **more):
        return getattr(self.gym, name)(*arguments, **more)

    def all(self, name, /, *arguments, **more):
        return list(getattr(self.gym, name)(*arguments, **more))


class Awaiting:
    """The same of the other, in an event loop of its own."""

    def __init__(self, url, **options):
        self.url, self.options = url, options

    def __call__(self, name, /, *arguments, **more):
        async def call():
            async with AsyncClient(self.url, **self.options) as gym:
                return await getattr(gym, name)(*arguments, **more)

        return asyncio.run(call())

    def all(self, name, /, *arguments, **more):
        async def call():
            async with AsyncClient(self.url, **self.options) as gym:
                return [one async for one in getattr(gym, name)(*arguments, **more)]

        return asyncio.run(call())


@pytest.fixture(params=[Blocking, Awaiting], ids=["sync", "async"])
def kind(request):
    return request.param


def test_evaluate(kind, server):
    gym = kind(server.url)
    assert gym("evaluate", "relu", "fine", name="a.c")["status"] == "passed"
    verdict = gym("evaluate", "relu", "wrong")
    assert verdict["status"] == "wrong" and verdict["problem"]["id"] == "relu"


def test_submit_wait_get(kind, server):
    server.hold = True
    gym = kind(server.url)
    submitted = gym("submit", "relu", "fine", priority="high", notes={"step": 3}, id="mine")
    assert (submitted.id, submitted.state, submitted.ended) == ("mine", "queued", False)
    assert submitted.notes == {"step": 3} and submitted.priority == "high"
    with pytest.raises(TimeoutError, match="still queued"):
        gym("wait", "mine", timeout_s=0)
    server.release()
    ended = gym("wait", "mine")
    assert ended.passed and ended.ended and ended.verdict["status"] == "passed"
    assert gym("get", "mine") == ended
    assert gym("submit", "relu", "fine", id="mine").passed  # joined, not judged again
    assert len(server.jobs) == 1


def test_batch(kind, server):
    gym = kind(server.url)
    items = [request("relu", "wrong" if i % 3 == 0 else "fine", name=f"{i}.c") for i in range(230)]
    ended = gym("batch", items)
    assert [one.id for one in ended] == [item["id"] for item in items]
    assert [one.outcome for one in ended[:4]] == ["wrong", "passed", "passed", "wrong"]
    assert len(server.batches) == 3
    batch = gym("submit_batch", items[:2], id="b")
    assert batch.id == "b" and batch.ids == (items[0]["id"], items[1]["id"])
    assert gym("get_batch", "b", wait_s=20).ended


def test_an_abandoned_batch_is_cancelled(kind, server):
    server.hold = True
    with pytest.raises(TimeoutError):
        kind(server.url)("batch", [request("relu", "fine")] * 3, timeout_s=0)
    assert {job["state"] for job in server.jobs.values()} == {"cancelled"}


def test_cancel(kind, server):
    server.hold = True
    gym = kind(server.url)
    one = gym("submit", "relu", "fine")
    gym("cancel", one.id)
    assert gym("wait", one.id).outcome == "cancelled"
    with pytest.raises(Refused, match="has ended") as caught:
        gym("cancel", one.id)
    assert caught.value.status == 409
    with pytest.raises(NotFound):
        gym("cancel", "x/../y z")
    gym("submit_batch", [request("relu", "fine")], id="b")
    gym("cancel_batch", "b")
    assert gym("get_batch", "b").outcomes == {"cancelled": 1}


def test_cancelled_has_no_verdict(kind, server):
    server.hold = True
    caught = []

    def evaluate():
        try:
            kind(server.url)("evaluate", "relu", "fine")
        except Error as error:
            caught.append(error)

    thread = threading.Thread(target=evaluate)
    thread.start()
    server.cancel(wait_until(lambda: list(server.jobs.values()), "submitted")[0])
    thread.join(60)
    assert "another client cancelled it" in str(caught[0])


def test_evaluations(kind, server):
    gym = kind(server.url)
    gym("batch", [request("relu", "fine", id=f"j{i}") for i in range(150)])
    found = gym.all("evaluations", limit=120)
    assert [one.id for one in found] == [f"j{i}" for i in range(149, 29, -1)]
    assert found[0].verdict is None
    assert gym.all("evaluations", limit=1, verdicts=True)[0].verdict["status"] == "passed"
    assert len(gym.all("evaluations")) == 150
    assert gym.all("evaluations", state="queued") == []


def test_events(kind, server):
    server.hold = True
    gym = kind(server.url)
    gym("submit_batch", [request("relu", "fine", id=f"j{i}") for i in range(3)], id="b")
    threading.Timer(0.2, server.release).start()
    names = [event.name for event in gym.all("events", batch="b")]
    assert names.count("verdict") == 3 and names[0] == "state"
    (verdict,) = [event.data for event in gym.all("events", "j1") if event.name == "verdict"]
    assert verdict["verdict"]["status"] == "passed"
    with pytest.raises(NotFound):
        gym.all("events", "nope")


def test_problems_as_text(kind, server):
    sent = []
    server.judge = lambda one: sent.append(one["problem"]) or plain_verdict(one)
    problems = [
        torch_problem("class Net: pass", "Net"),
        native_problem("name: x", "void solution(void);", "// cuda"),
        simple_problem([{"inputs": [1]}]),
    ]
    kind(server.url)("batch", [request(problem, "fine") for problem in problems])
    assert sorted(map(str, sent)) == sorted(map(str, problems))


@pytest.mark.parametrize(
    "faults", [[503], [429, 502], ["cut"], ["half", 504], ["cut", "cut"]], ids=str
)
def test_faults_that_pass(kind, server, faults):
    server.faults = list(faults)
    assert kind(server.url)("evaluate", "relu", "fine")["status"] == "passed"
    assert len(server.jobs) == 1


@pytest.mark.parametrize(
    ("fault", "error"),
    [("garbage", ProtocolError), (302, Refused), (500, Refused), (404, NotFound)],
)
def test_faults_that_do_not(kind, server, fault, error):
    server.faults = [fault]
    with pytest.raises(error):
        kind(server.url)("submit", "relu", "fine")


def test_retry_budget(kind, server):
    server.faults = [503] * 100
    with pytest.raises(Refused, match="busy"):
        kind(server.url, retry_budget_s=0)("submit", "relu", "fine")
    with pytest.raises(Unreachable):
        kind("http://127.0.0.1:1", retry_budget_s=0)("submit", "relu", "fine")


def test_a_server_that_says_nothing(kind):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        gym = kind(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout_s=0.2, retry_budget_s=0)
        with pytest.raises(Unreachable):
            gym("get", "x")


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 100000 + b"\r\n",
        b"SSH-2.0-OpenSSH\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]",
        b'HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n{"id": "x"}',
    ],
    ids=range(7),
)
def test_answers_that_are_none(kind, answer):
    def serve():
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            with contextlib.suppress(ConnectionError):  # it may have read enough of it
                connection.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        gym = kind(f"http://127.0.0.1:{listener.getsockname()[1]}", timeout_s=5, retry_budget_s=0)
        with pytest.raises((ProtocolError, Unreachable)):
            gym("get", "x")
        thread.join(60)


def test_token_and_address_of_the_environment(kind, monkeypatch):
    with Server(token="open sesame") as server:
        monkeypatch.setenv("WARPGYM_CLIENT_URL", server.url + "/")
        with pytest.raises(Refused, match="bearer token"):
            kind(None)("submit", "relu", "fine")
        monkeypatch.setenv("WARPGYM_TOKEN", "open sesame")
        assert kind(None)("evaluate", "relu", "fine")["status"] == "passed"
        assert "open sesame" not in repr(Client().options)


@pytest.mark.parametrize("url", ["ftp://x", "nonsense", "http://", "http://u:p@x", "http://x?y=1"])
def test_addresses_that_are_none(kind, url):
    with pytest.raises(ValueError):
        kind(url)("stats")


def test_many_at_a_time(server):
    async def all_of_them():
        async with AsyncClient(server.url) as gym:
            return await asyncio.gather(*(gym.evaluate("relu", "fine") for _ in range(50)))

    assert {one["status"] for one in asyncio.run(all_of_them())} == {"passed"}
    found = []
    with Client(server.url) as gym:
        threads = [
            threading.Thread(target=lambda: found.append(gym.evaluate("relu", "fine")))
            for _ in range(20)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert [one["status"] for one in found] == ["passed"] * 20


def test_installed(server, tmp_path):
    """As pip installs it from the checkout, in an environment that has nothing else."""
    source = tmp_path / "python"
    shutil.copytree(
        ROOT / "python", source, ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info")
    )
    wheels, fresh = tmp_path / "wheels", tmp_path / "venv"
    pip = [str(PYTHON), "-m", "pip", "--quiet", "--disable-pip-version-check"]
    offline = ["--no-index", "--no-deps"]
    build = [*pip, "wheel", "--no-build-isolation", *offline, "-w", str(wheels), str(source)]
    subprocess.run(build, check=True, timeout=300)
    (wheel,) = wheels.glob("warpgym-*.whl")
    assert wheel.name.split("-")[1] == (ROOT / "VERSION").read_text().strip()
    subprocess.run(
        [str(PYTHON), "-m", "venv", "--without-pip", str(fresh)], check=True, timeout=300
    )
    python = fresh / "bin" / "python3"
    install = [*pip, "--python", str(python), "install", *offline, str(wheel)]
    subprocess.run(install, check=True, timeout=300)
    program = """
import json, sys
import warpgym.client
from warpgym.client import Client
assert "torch" not in sys.modules
assert warpgym.client.__file__.startswith(sys.prefix)
print(json.dumps(Client(sys.argv[1]).evaluate("relu", "fine")))
"""
    environment = {key: os.environ[key] for key in os.environ if not key.startswith("PYTHON")}
    run = subprocess.run(
        [str(python), "-c", program, server.url],
        check=True,
        capture_output=True,
        cwd=tmp_path,
        env=environment,
        timeout=300,
    )
    assert json.loads(run.stdout)["status"] == "passed"
    files = sorted(path.name for path in fresh.glob("lib/python*/site-packages/warpgym/client/*"))
    assert "py.typed" in files
