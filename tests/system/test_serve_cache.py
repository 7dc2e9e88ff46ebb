"""What a server may answer from what was judged before, and by which problem."""

import contextlib
import json
import shutil
import signal

import pytest
import serving
import support

RELU = support.ROOT / "problems" / "native" / "relu"
FAST = (RELU / "tests" / "fast.c").read_text(encoding="utf-8")


@pytest.fixture
def quick(warpgym):
    warpgym.environment["WARPGYM_PYTHON_PATH"] = "/bin/false"
    return warpgym


@contextlib.contextmanager
def worker(warpgym, server, *arguments):
    process = warpgym.start(
        "worker", "--queue", server.queue, "-s", "worker.heartbeat_ms=200ms", *arguments,
        stderr=(warpgym.folder / "worker.log").open("ab"),
    )  # fmt: skip
    assert b"claims jobs" in process.stdout.readline()

    def ours():
        return any(one["pid"] == process.pid for one in workers(server))

    support.wait_until(ours, "the worker is known")
    yield
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=support.TIMEOUT_S)
    support.wait_until(lambda: not ours(), "the worker is gone")


def workers(server):
    return server.get("/v1/workers").json["workers"]


def ask(server, problem="relu", **more):
    body = {"problem": {"id": problem, **more}, "candidate": {"source": FAST}, "timing": False}
    return server.post("/v1/evaluations?wait_s=60", body)


def root_with(folder, name, reference=None):
    """A root of problems with one, as relu or by another reference."""
    place = folder / "native" / name
    shutil.copytree(RELU, place)
    text = (place / "problem.yaml").read_text(encoding="utf-8")
    text = text.replace("name: relu", f"name: {name}")
    (place / "problem.yaml").write_text(text, encoding="utf-8")
    if reference:
        source = (place / "reference.c").read_text(encoding="utf-8")
        assert reference[0] in source
        (place / "reference.c").write_text(source.replace(*reference), encoding="utf-8")
    return folder


def test_a_problem_is_never_a_path(quick):
    """What lies below the server's working directory is neither shown nor judged by."""
    folder = quick.folder / "cwd"
    support.write(folder / "sub" / "held_out.py", support.kernelbench_module())
    root_with(folder, "mine")
    (folder / "native" / "softmax").mkdir()
    server = serving.Server(quick, cwd=folder)
    for path in ("sub/held_out.py", "native/mine"):
        answer = server.get(f"/v1/problems/{path}")
        assert answer.status == 404 and "Model" not in answer.text, answer
        refused = ask(server, path)
        assert refused.status == 400, refused
    assert server.get("/v1/problems/softmax").status == 200
    assert server.stop() == 0


def test_a_verdict_is_cached_for_workers_of_the_same_judging(quick):
    server = serving.Server(quick)
    with worker(quick, server):
        first = ask(server).json
        again = ask(server).json
        assert (first["submission"], again["submission"]) == ("new", "cached")
        assert again["verdict"]["id"] == again["id"] != first["id"], "its own"
        assert again["verdict"] == first["verdict"] | {"id": again["id"]}
    with worker(quick, server, "-s", "check.trials=50"):
        assert ask(server).json["submission"] == "new"
        assert ask(server).json["submission"] == "cached"
    with worker(quick, server, "-s", "worker.slots=1"):
        assert ask(server).json["submission"] == "cached", "slots change no verdict"
    assert server.stop() == 0


def test_a_worker_with_another_problem_of_that_name(quick):
    """It uses no cached verdict, and its own verdict is not cached."""
    ours = root_with(quick.folder / "ours", "mine")
    theirs = root_with(quick.folder / "theirs", "mine", ("? x[i]", "? 2 * x[i]"))
    server = serving.Server(quick, "--problems", ours)
    for wrong in (["--problems", theirs], []):
        with worker(quick, server, *wrong):
            answer = ask(server, "mine").json
            assert answer.get("outcome") == "infrastructure_error", answer
            assert answer["attempt"] == 3 and "mine" in answer["verdict"]["error"]["message"]
    with worker(quick, server, "--problems", ours):
        answer = ask(server, "mine").json
        assert (answer["submission"], answer["outcome"]) == ("new", "passed"), answer
        known = answer["verdict"]["problem"]["hash"]
        pinned = ask(server, "mine", hash=known)
        assert pinned.json["outcome"] == "passed", pinned
        other = ask(server, "mine", hash="0" * 64)
        assert other.status == 400 and known in other.text, other
    assert server.stop() == 0


def test_a_worker_with_a_strange_name(quick):
    run = quick("worker", "--name", "a\udcff", "--queue", f"sqlite:{quick.folder}/q.db")
    assert run.status == support.USAGE and "name has 1 to" in run.err, run


@pytest.mark.parametrize("url", ["rediss://user:hunter2@127.0.0.1:1/0", "redis//:hunter2@host"])
def test_a_queue_of_another_kind_keeps_its_password(quick, url):
    run = quick("serve", "--queue", url)
    assert run.status == support.USAGE and "queue.url: invalid URL" in run.err, run
    assert "hunter2" not in json.dumps([run.out, run.err])
