"""`warpgym eval --server` and `warpgym jobs`, against a server that does as the test says."""

import json
import shutil
import signal

import pytest
import remote_tasks
from support import (
    INFRASTRUCTURE,
    INTERRUPTED,
    PASSED,
    SOME_FAILED,
    USAGE,
    fast,
    problem_folder,
    read_lines,
    statuses,
    wait_until,
    write_lines,
)
from v1_server import Server, plain_verdict


@pytest.fixture
def server():
    with Server() as one:
        yield one


def judged_by(warpgym):
    """A judge of the scripted server: the binary under test, given the request as one line."""

    def judge(request):
        line = {key: request[key] for key in ("problem", "candidate")}
        file = write_lines(warpgym.folder / f"{request['id']}.jsonl", [line])
        # The name of a line's candidate has its place before it.
        return json.loads(warpgym.eval(file).out.replace(f"{file}:1/", ""))

    return judge


def remote(warpgym, server, *arguments, **options):
    return warpgym.eval("--server", server.url, *arguments, **options)


# --- eval ----------------------------------------------------------------------------------------


def test_verdicts_are_those_of_this_machine(warpgym, server):
    server.judge = judged_by(warpgym)
    remote_tasks.check_same_verdicts(warpgym, server.url)


def test_problems_go_by_id_or_as_text(warpgym, server):
    sent = []
    server.judge = lambda request: sent.append(request) or plain_verdict(request)
    own = shutil.copytree(problem_folder("relu"), warpgym.folder / "suite" / "native" / "mine")
    yaml = own / "problem.yaml"
    yaml.write_text(yaml.read_text().replace("name: relu", "name: mine"))
    source = fast("relu")
    lines = [
        {"problem": "relu", "candidate": str(source)},
        {"problem": "only_there", "candidate": str(source)},
        {"problem": "mine", "candidate": str(source)},
    ]
    batch = write_lines(warpgym.folder / "all.jsonl", lines)
    run = remote(warpgym, server, "--problems", own.parent.parent, batch)
    assert run.status == PASSED
    problems = {json.dumps(request["problem"], sort_keys=True) for request in sent}
    assert json.dumps({"id": "relu"}) in problems and json.dumps({"id": "only_there"}) in problems
    (text,) = [request["problem"] for request in sent if "format" in request["problem"]]
    assert text["yaml"] == yaml.read_text() and text["source"] == (own / "reference.c").read_text()
    assert text["format"] == "native"
    assert {one["problem"]["id"] for one in run.verdicts} == {"relu", "only_there", "mine"}


def test_many_in_chunks(warpgym, server):
    lines = [
        {"problem": "relu", "source": "wrong" if i % 7 == 0 else "fine", "name": f"{i}.c"}
        for i in range(250)
    ]
    batch = write_lines(warpgym.folder / "many.jsonl", lines)
    out = warpgym.folder / "out.jsonl"
    run = remote(warpgym, server, "--out", out, batch)
    assert run.status == SOME_FAILED
    assert {one["candidate"]["path"] for one in run.verdicts} == {f"{i}.c" for i in range(250)}
    assert statuses(run.verdicts).count("wrong") == 36
    assert len(read_lines(out)) == 250
    assert len(server.batches) > 1
    assert all(int(seconds) > 0 for seconds in server.waits)


def test_jobs_bounds_submissions_on_the_server(warpgym, server):
    most = []

    def judge(request):
        most.append(sum(job["state"] != "done" for job in list(server.jobs.values())))
        return plain_verdict(request)

    server.judge = judge
    lines = [{"problem": "relu", "source": "fine", "name": f"{i}.c"} for i in range(20)]
    batch = write_lines(warpgym.folder / "many.jsonl", lines)
    assert remote(warpgym, server, "--jobs", 3, batch).status == PASSED
    assert len(most) == 20 and max(most) <= 3


def test_settings_go_along(warpgym, server):
    sent = []
    server.judge = lambda request: sent.append(request) or plain_verdict(request)
    arguments = ["--problem", "relu", "--set", "check.trials=2", "--fresh"]
    assert remote(warpgym, server, *arguments, fast("relu")).status == PASSED
    (request,) = sent
    assert request["settings"] == {"check.trials": "2"}
    assert request["timing"] is False and request["fresh"] is True


FAULTS = [[503], [429], [502, 504], ["cut"], ["half"], ["cut", "cut", 503]]


@pytest.mark.parametrize("faults", FAULTS, ids=str)
def test_faults_that_pass(warpgym, server, faults):
    server.faults = list(faults)
    run = remote(warpgym, server, "--problem", "relu", fast("relu"))
    assert run.status == PASSED, run
    assert len(server.jobs) == 1


REFUSED = [
    (["garbage"], INFRASTRUCTURE, "JSON"),
    ([302], INFRASTRUCTURE, "302"),
    ([500], INFRASTRUCTURE, "(500)"),
    ([403], USAGE, "(403)"),
]


@pytest.mark.parametrize(("faults", "status", "says"), REFUSED, ids=str)
def test_faults_that_do_not(warpgym, server, faults, status, says):
    server.faults = list(faults)
    run = remote(warpgym, server, "--problem", "relu", fast("relu"))
    assert run.status == status
    assert says in run.complaint and server.url in run.complaint


def test_retry_budget_ends(warpgym, server):
    server.faults = [503] * 100
    budget = ("-s", "client.retry_budget_ms=1")
    run = remote(warpgym, server, "--problem", "relu", *budget, fast("relu"))
    assert run.status == INFRASTRUCTURE
    assert "busy (503)" in run.complaint


def test_one_refused_request_spoils_no_other(warpgym, server):
    server.refuse = lambda request: "no problem 'nope'" if "nope" in str(request) else None
    lines = [{"problem": "relu", "source": "fine", "name": f"{i}.c"} for i in range(5)]
    lines.insert(3, {"problem": "nope", "source": "fine", "name": "bad.c"})
    run = remote(warpgym, server, write_lines(warpgym.folder / "all.jsonl", lines))
    assert run.status == USAGE
    assert statuses(run.verdicts) == ["passed"] * 5
    assert "bad.c" in run.err and "no problem 'nope'" in run.err


def test_an_evaluation_that_no_worker_brought_to_an_end(warpgym, server):
    def judge(request):
        with server.changed:
            ended = {"state": "done", "outcome": "infrastructure_error", "reason": "lost 3 times"}
            server.jobs[request["id"]] |= ended
        return plain_verdict(request)

    server.judge = judge
    run = remote(warpgym, server, "--problem", "relu", fast("relu"))
    assert run.status == INFRASTRUCTURE
    assert run.verdict["status"] == "infrastructure_error"
    assert run.verdict["error"]["message"] == "lost 3 times"
    assert run.verdict["problem"]["id"] == "relu"


def test_token(warpgym):
    with Server(token="open sesame") as server:
        arguments = ["--problem", "relu", fast("relu")]
        assert "bearer token" in remote(warpgym, server, *arguments).complaint
        for variable in ("WARPGYM_CLIENT_TOKEN", "WARPGYM_TOKEN"):
            environment = {variable: "open sesame"}
            assert remote(warpgym, server, *arguments, environment=environment).status == PASSED


def test_configured(warpgym, server):
    environment = {"WARPGYM_CLIENT_URL": server.url + "/"}
    arguments = ["--problem", "relu", fast("relu")]
    assert warpgym.eval(*arguments, environment=environment).status == PASSED
    assert len(server.jobs) == 1
    assert warpgym.eval("--local", *arguments, environment=environment).status == PASSED
    assert len(server.jobs) == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--server", "ftp://x"], "is not a server's address"),
        (["--server", "http://u:p@127.0.0.1:1"], "client.token"),
        (["--server", "http://127.0.0.1:1?x=1"], "query"),
        (["--server", "http://127.0.0.1:1", "--set", "run.threads=2"], "run.threads"),
    ],
)
def test_bad_use(warpgym, arguments, says):
    run = warpgym.eval(*arguments, "--problem", "relu", fast("relu"))
    assert run.status == USAGE and says in run.complaint


def test_no_server(warpgym):
    run = warpgym.eval("--server", "http://127.0.0.1:1", "--problem", "relu", fast("relu"))
    assert run.status == INFRASTRUCTURE and "127.0.0.1:1" in run.complaint


def test_interrupt_cancels_submissions(warpgym, server):
    server.hold = True
    lines = [{"problem": "relu", "source": "fine", "name": f"{i}.c"} for i in range(120)]
    batch = write_lines(warpgym.folder / "many.jsonl", lines)
    process = warpgym.start("eval", "--server", server.url, "--quiet", batch)
    wait_until(lambda: len(server.jobs) == 120, "all of it submitted")
    process.send_signal(signal.SIGINT)
    run = warpgym.finish(process, timeout=60, expect=INTERRUPTED)
    assert "interrupted; 0 of 120" in run.err
    assert {job["state"] for job in server.jobs.values()} == {"cancelled"}


def test_cancelled_by_another_client(warpgym, server):
    server.hold = True
    process = warpgym.start("eval", "--json", "--server", server.url, "-p", "relu", fast("relu"))
    (job,) = wait_until(lambda: list(server.jobs.values()), "submitted")
    server.cancel(job)
    run = warpgym.finish(process, expect=SOME_FAILED)
    assert run.verdict["status"] == "cancelled"
    assert run.verdict["error"]["message"] == "another client cancelled it"
    assert run.verdict["candidate"]["path"] == str(fast("relu"))


# --- jobs ----------------------------------------------------------------------------------------


def jobs(warpgym, server, *arguments, **options):
    return warpgym("jobs", *arguments, "--server", server.url, **options)


def some_jobs(server, count, source="fine"):
    for i in range(count):
        request = {"id": f"j{i}", "problem": {"id": "relu"}, "candidate": {"source": source}}
        server.put(request, "b")
    server.batches["b"] = [f"j{i}" for i in range(count)]


def all_in(server, state):
    return all(job["state"] == state for job in server.jobs.values())


def test_list(warpgym, server):
    some_jobs(server, 250)
    wait_until(lambda: all_in(server, "done"), "judged")
    rows = jobs(warpgym, server, "list").out.splitlines()
    assert len(rows) == 21 and rows[0].split()[:4] == ["id", "state", "outcome", "problem"]
    assert rows[1].split()[:4] == ["j249", "done", "passed", "relu"]
    whole = jobs(warpgym, server, "list", "-n", 240, "--json").verdicts
    assert [one["id"] for one in whole] == [f"j{i}" for i in range(249, 9, -1)]
    assert jobs(warpgym, server, "list", "--state", "queued").out == ""


def test_show(warpgym, server):
    some_jobs(server, 1, "wrong")
    wait_until(lambda: all_in(server, "done"), "judged")
    run = jobs(warpgym, server, "show", "j0")
    assert run.status == SOME_FAILED and "0 of 1 passed" in run.out
    run = jobs(warpgym, server, "show", "--json", "j0")
    assert run.status == PASSED and run.verdict["verdict"]["status"] == "wrong"
    run = jobs(warpgym, server, "show", "j 9/..")
    assert run.status == USAGE and "no evaluation j 9/.." in run.complaint


def test_watch(warpgym, server):
    server.hold = True
    some_jobs(server, 1)
    process = warpgym.start("jobs", "watch", "--server", server.url, "j0")
    wait_until(lambda: ("GET", "/v1/evaluations/j0?wait_s=0") in server.requests, "looked at")
    server.release()
    run = warpgym.finish(process, expect=PASSED)
    assert run.err.splitlines()[0] == "j0: queued" and "done" in run.err.splitlines()[-1]
    assert "1 of 1 passed" in run.out


def test_watch_interrupted_cancels_nothing(warpgym, server):
    server.hold = True
    some_jobs(server, 1)
    process = warpgym.start("jobs", "watch", "--server", server.url, "j0")
    wait_until(lambda: server.waits, "waits")
    process.send_signal(signal.SIGINT)
    assert warpgym.finish(process, timeout=60).status == INTERRUPTED
    assert server.jobs["j0"]["state"] == "queued"


def test_cancel(warpgym, server):
    server.hold = True
    some_jobs(server, 3)
    assert jobs(warpgym, server, "cancel", "j1").status == PASSED
    assert [server.jobs[f"j{i}"]["state"] for i in range(3)] == ["queued", "cancelled", "queued"]
    run = jobs(warpgym, server, "cancel", "j1")
    assert run.status == USAGE and "has ended" in run.complaint
    assert jobs(warpgym, server, "cancel", "--batch", "b").status == PASSED
    assert all_in(server, "cancelled")
    assert jobs(warpgym, server, "cancel", "--batch", "nope").status == USAGE
