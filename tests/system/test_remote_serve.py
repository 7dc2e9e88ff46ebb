"""`warpgym eval --server`, `warpgym jobs` and the Python client against the real `warpgym serve`:
the same tasks get the verdicts that they get here."""

import asyncio
import re
import signal
import sys

import pytest
import remote_tasks
import serving
from support import (
    CHECKOUT,
    INTERRUPTED,
    PASSED,
    SOME_FAILED,
    SPIN,
    USAGE,
    fast,
    statuses,
    wait_until,
    write,
    write_lines,
)

sys.path.insert(0, str(CHECKOUT / "python"))

from warpgym.client import AsyncClient, Client, NotFound, Refused, request  # noqa: E402


@pytest.fixture(scope="module")
def warpgym(module_warpgym):
    """One for all: what a test leaves is looked for when the server has ended, too."""
    return module_warpgym


@pytest.fixture(scope="module")
def server(warpgym):
    """The address of a server that judges two at a time."""
    running = serving.Server(warpgym, "--workers", "2")
    yield running.url
    assert running.stop() == 0, (warpgym.folder / "serve.log").read_text()


def test_the_same_verdicts(warpgym, server):
    remote_tasks.check_same_verdicts(warpgym, server)


def test_table_and_times(warpgym, server):
    run = warpgym.ok("eval", "--server", server, "--problem", "softmax", fast("softmax"))
    # On a busy machine the reason stands where the times would.
    assert re.search(r"^softmax .*passed +(\d+\.\d\dx |- .*\w{4})", run.out, re.MULTILINE), run
    assert "1 of 1 passed" in run.out


def test_unknown_problem(warpgym, server):
    lines = [
        {"problem": "relu", "candidate": str(fast("relu"))},
        {"problem": "no_such_problem", "candidate": str(fast("relu")), "name": "x.c"},
    ]
    run = warpgym.eval("--server", server, write_lines(warpgym.folder / "all.jsonl", lines))
    assert "passed" in statuses(run.verdicts)
    # Refused at once, or judged to be unsupported here.
    assert run.status in (USAGE, SOME_FAILED) and "no_such_problem" in run.out + run.err


def test_interrupt_cancels(warpgym, server):
    spin = write(warpgym.folder / "spin.c", SPIN)
    lines = [{"problem": "softmax", "candidate": str(spin)}] * 5
    batch = write_lines(warpgym.folder / "spin.jsonl", lines)
    settings = ["--set", "run.timeout_ms=10m"]
    process = warpgym.start("eval", "--server", server, "--fresh", "--quiet", *settings, batch)
    with Client(server) as gym:
        wait_until(lambda: list(gym.evaluations(state="running")), "some are running")
        mine = [one.id for one in gym.evaluations(limit=5)]
        process.send_signal(signal.SIGINT)
        assert warpgym.finish(process, timeout=60).status == INTERRUPTED
        assert {gym.wait(one, 60).outcome for one in mine} == {"cancelled"}


def test_jobs(warpgym, server):
    with Client(server) as gym:
        ended = gym.batch([request("relu", fast("relu").read_text(), timing=False)])
    (one,) = ended
    assert one.passed
    rows = warpgym("jobs", "list", "--server", server).out
    assert one.id in rows and "relu" in rows and "passed" in rows
    shown = warpgym("jobs", "show", "--server", server, one.id)
    assert shown.status == PASSED and "1 of 1 passed" in shown.out
    watched = warpgym("jobs", "watch", "--json", "--server", server, one.id)
    assert watched.status == PASSED and watched.verdict["status"] == "passed"
    warpgym.refused(one.id, "jobs", "cancel", "--server", server, one.id)
    assert warpgym("jobs", "show", "--server", server, "nope").status == USAGE


def test_jobs_beyond_a_page(warpgym, server):
    requests = [request("relu", "int x", name=f"{i}.c") for i in range(130)]
    with Client(server) as gym:
        newest = gym.submit_batch(requests, id="pages").ids[::-1]
    listing = ("jobs", "list", "--server", server, "--batch", "pages")
    for limit in (20, 115, 1000):
        run = warpgym.ok(*listing, "--json", "-n", limit)
        assert [one["id"] for one in run.verdicts] == [*newest[:limit]]
    assert len(warpgym(*listing, "-n", 130).out.splitlines()) == 1 + 130
    with Client(server) as gym:
        gym.cancel_batch("pages")


def test_python_clients(server):
    source = fast("relu").read_text()
    with Client(server) as gym:
        verdict = gym.evaluate("relu", source, timing=False, notes={"step": 1})
        assert verdict["status"] == "passed" and verdict["problem"]["id"] == "relu"
        submitted = gym.submit("relu", "int x", name="a.c", priority="high", notes={"step": 2})
        assert gym.wait(submitted.id).verdict["status"] == "compile_error"
        evaluation = gym.get(submitted.id)
        assert evaluation.notes == {"step": 2} and evaluation.priority == "high"
        assert evaluation.created_at
        batch = gym.submit_batch([request("relu", "int y", name="b.c")], id="three")
        assert wait_until(lambda: gym.get_batch("three", 20).ended, "ended")
        assert gym.get_batch("three").outcomes == {"compile_error": 1}
        events = list(gym.events(batch.ids[0]))
        assert events[-1].name == "verdict"
        assert events[-1].data["verdict"]["status"] == "compile_error"
        assert [one.id for one in gym.evaluations(batch="three")] == [*batch.ids]
        newest = [one.id for one in gym.evaluations(limit=150)]
        assert len(newest) == len(set(newest)) and submitted.id in newest
        assert gym.problems() and gym.workers() and gym.stats()
        with pytest.raises(NotFound):
            gym.get("nope")
        with pytest.raises(Refused, match="priority"):
            gym.submit("relu", source, priority="soon")

    async def many():
        async with AsyncClient(server) as gym:
            one = await asyncio.gather(
                *(gym.evaluate("relu", source, timing=False, name=f"{i}.c") for i in range(8))
            )
            return one, [event.name async for event in gym.events(batch="three")]

    verdicts, names = asyncio.run(many())
    assert {one["status"] for one in verdicts} == {"passed"}
    assert names
