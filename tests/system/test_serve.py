"""`warpgym serve`: every route of our own API, with a worker that judges nothing."""

import json
import re
import signal
import time

import pytest
import serving
import support
from serving import Server, Worker, evaluation
from vectors import vector

ENDED = ("done", "cancelled")


def refusal(answer, status, code=None):
    assert answer.status == status, answer
    error = answer.json["error"]
    assert error["message"] and error["request_id"] == answer.headers["X-Request-Id"]
    assert code is None or error["code"] == code, answer
    return error["message"]


# --- one evaluation -------------------------------------------------------------------------------


def test_an_evaluation_with_all_its_fields(server):
    answer = server.evaluate(
        "vector=correct", id="a b?%ü", priority="high", notes={"step": 7}
    )
    assert answer.status == 200
    one = answer.json
    assert one["verdict"] == vector("correct")["verdict"] | {"id": one["id"]}
    expected = {
        "id": "a b?%ü",
        "batch": None,
        "state": "done",
        "priority": "high",
        "attempt": 1,
        "worker": "fake",
        "outcome": "passed",
        "reason": None,
        "notes": {"step": 7},
        "submission": "new",
    }
    assert {key: one[key] for key in expected} == expected
    for key in ("created_at", "started_at", "ended_at"):
        assert one[key].endswith("Z") and one[key][10] == "T"
    assert one["created_at"] <= one["started_at"] <= one["ended_at"]
    assert one["timing_ms"]["waited"] >= 0 and one["timing_ms"]["judged"] >= 0
    path = "/v1/evaluations/a%20b%3F%25%C3%BC"
    assert server.get(path).json == {
        key: one[key] for key in one if key != "submission"
    }
    assert "verdict" not in server.get(path + "?verdict=false").json


def test_waiting_for_the_machine_is_waiting(server):
    """It counted as time of judging."""
    one = server.evaluate("status=passed queue_ms=300 delay_ms=500").json
    timing = one["timing_ms"]
    assert one["verdict"]["stages_ms"]["queue"] == 300 == timing["waited"], one
    assert timing["judged"] >= 200


def test_without_waiting_and_polling(server):
    answer = server.post("/v1/evaluations", evaluation("delay_ms=200"))
    assert answer.status == 202
    assert (
        answer.json["state"] in ("queued", "running") and answer.json["verdict"] is None
    )
    path = f"/v1/evaluations/{answer.json['id']}"
    last = support.wait_until(
        lambda: (one := server.get(path).json)["state"] in ENDED and one, "the end"
    )
    assert last["outcome"] == "passed" and last["verdict"]["status"] == "passed"


def test_long_poll_answers_at_the_deadline(idle):
    posted = idle.post("/v1/evaluations?wait_s=1", evaluation(id="x"))
    assert posted.status == 202 and posted.json["state"] == "queued"
    got = idle.get("/v1/evaluations/x?wait_s=1")
    assert got.status == 200 and got.json["state"] == "queued"


def test_several_waiters_get_one_result(idle):
    assert (
        idle.post("/v1/evaluations", evaluation("status=wrong", id="x")).status == 202
    )
    waiting = [idle.later("GET", "/v1/evaluations/x?wait_s=300") for _ in range(20)]
    waiting += [
        idle.later(
            "POST", "/v1/evaluations?wait_s=300", evaluation("status=wrong", id="x")
        )
    ]
    support.wait_until(lambda: idle.waiters() == 21, "21 waiters")
    worker = Worker(idle.queue)
    answers = [future.result(support.TIMEOUT_S) for future in waiting]
    assert worker.stop() == ["x"]
    assert {answer.status for answer in answers} == {200}
    assert {answer.json["verdict"]["status"] for answer in answers} == {"wrong"}
    assert answers[-1].json["submission"] == "joined"
    assert idle.waiters() == 0


def test_a_waiter_that_leaves_costs_nothing(idle):
    connection = idle.connect()
    body = json.dumps(evaluation(id="x"))
    connection.request(
        "POST", "/v1/evaluations?wait_s=300", body, {"Content-Type": "application/json"}
    )
    support.wait_until(lambda: idle.waiters() == 1, "a waiter")
    connection.close()
    support.wait_until(lambda: idle.waiters() == 0, "no waiter")
    assert idle.get("/v1/evaluations/x").json["state"] == "queued"


def test_the_same_id(server):
    first = server.evaluate("status=wrong", id="x").json
    again = server.evaluate(
        "status=wrong", id="x", priority="high", notes={"a": 1}
    ).json
    assert again["submission"] == "answered" and again["verdict"]["status"] == "wrong"
    assert again["ended_at"] == first["ended_at"]
    fresh = server.evaluate("status=passed", id="x", fresh=True).json
    assert fresh["submission"] == "replaced" and fresh["verdict"]["status"] == "passed"
    assert server.get("/v1/evaluations/x").json["verdict"]["status"] == "passed"


OTHERS = {
    "candidate": {"source": "status=passed", "name": "a.c"},
    "problem": {"id": "relu"},
    "settings": {"check.trials": 7},
    "timing": False,
}


@pytest.mark.parametrize("key", OTHERS)
def test_the_same_id_with_another_body(idle, key):
    """Neither what is queued nor what has ended answers for another request."""
    body = evaluation("status=wrong", id="x")
    other = body | {key: OTHERS[key]}
    assert idle.post("/v1/evaluations", body).json["submission"] == "new"
    sentence = "evaluation 'x' exists with another problem, candidate or settings"
    assert refusal(idle.post("/v1/evaluations", other), 409) == sentence
    assert (
        refusal(idle.post("/v1/evaluations", other | {"fresh": True}), 409) == sentence
    )
    batch = [evaluation("new", id="new"), other]
    assert refusal(idle.post("/v1/batches", {"evaluations": batch}), 409) == sentence
    batch[1] = other | {"fresh": True}
    assert refusal(idle.post("/v1/batches", {"evaluations": batch}), 409) == sentence
    twice = [evaluation("new", id="new"), evaluation("newer", id="new")]
    refusal(idle.post("/v1/batches", {"evaluations": twice}), 409)
    assert len(idle.get("/v1/evaluations").json["evaluations"]) == 1
    assert idle.post("/v1/evaluations", body).json["submission"] == "joined"
    idle.delete("/v1/evaluations/x")
    assert refusal(idle.post("/v1/evaluations", other), 409) == sentence
    assert idle.post("/v1/evaluations", body).json["submission"] == "answered"


def test_a_batch_of_one_id_costs_about_what_one_of_many_costs(idle):
    """Each is compared with one other of its id, not with all."""
    seconds = {}
    for many in (True, False):
        batch = [
            evaluation("x" * 6000, id=f"n{i}" if many else "x") for i in range(400)
        ]
        began = time.monotonic()
        answer = idle.post("/v1/batches", {"evaluations": batch})
        seconds[many] = time.monotonic() - began
        assert answer.status == 202
    assert seconds[False] < 8 * seconds[True], seconds


def test_one_id_in_a_batch_is_one_request_wherever_it_stands(idle):
    """Others may stand between its requests; `fresh` replaces what has ended, not one of these."""
    same, other = evaluation("a", id="x"), evaluation("b", id="x")
    between = [evaluation("c", id="y"), evaluation("d")]
    for last in (other, other | {"fresh": True}):
        batch = {"evaluations": [same, *between, same, last]}
        refusal(idle.post("/v1/batches", batch), 409, "exists")
        assert idle.get("/v1/evaluations").json["evaluations"] == []
    answer = idle.post("/v1/batches", {"evaluations": [same, *between, same]})
    taken = [one["submission"] for one in answer.json["evaluations"]]
    assert taken == ["new", "new", "new", "joined"]


def test_the_same_id_of_a_problem_with_its_hash(idle):
    """The hash that the server adds is no part of the request; the client's own is."""
    body = evaluation("a", id="x")
    idle.post("/v1/evaluations", body)
    problem = idle.get(f"/v1/problems/{body['problem']['id']}").json
    named = body | {"problem": body["problem"] | {"hash": problem["hash"]}}
    assert idle.post("/v1/evaluations", named).json["submission"] == "joined"
    assert idle.post("/v1/evaluations", body).json["submission"] == "joined"


def test_the_same_content_is_judged_once(server):
    support.wait_until(
        lambda: server.get("/v1/workers").json["workers"][0]["claims"],
        "the worker's note",
    )
    first = server.evaluate("status=wrong").json
    second = server.evaluate("status=wrong").json
    assert (first["submission"], second["submission"]) == ("new", "cached")
    assert second["verdict"] == first["verdict"] | {"id": second["id"]}
    assert second["id"] != first["id"]
    for change in (
        {"fresh": True},
        {"settings": {"check.trials": 7}},
        {"timing": False},
    ):
        other = server.evaluate("status=wrong", **change)
        assert other.json["submission"] == "new", change


def test_infrastructure_errors_are_not_cached(server):
    for _ in range(2):
        answer = server.evaluate("status=infrastructure_error").json
        assert (
            answer["submission"] == "new"
            and answer["outcome"] == "infrastructure_error"
        )


def test_refused_ends_at_once_without_a_worker(idle):
    answer = idle.post(
        "/v1/evaluations", {"refused": "no class ModelNew", "notes": {"a": 1}}
    )
    assert answer.status == 200
    assert answer.json["outcome"] == "unsupported" and answer.json["notes"] == {"a": 1}
    assert answer.json["verdict"]["error"]["message"] == "no class ModelNew"


def test_priorities_and_order(idle):
    for name, priority in (
        ("l", "low"),
        ("n1", "normal"),
        ("n2", "normal"),
        ("u", "urgent"),
    ):
        idle.post("/v1/evaluations", evaluation(name, id=name, priority=priority))
    ended = [
        idle.later("GET", f"/v1/evaluations/{name}?wait_s=300")
        for name in ("l", "n1", "n2")
    ]
    worker = Worker(idle.queue)
    assert all(
        future.result(support.TIMEOUT_S).json["state"] == "done" for future in ended
    )
    # Eight threads of one worker print in any order; the record says which job was claimed first.
    worker.stop()
    starts = {
        name: idle.get(f"/v1/evaluations/{name}").json["started_at"]
        for name in ("u", "n1", "n2", "l")
    }
    assert sorted(starts.values()) == list(starts.values())


def test_needs(idle):
    """C goes to any worker; a GPU's languages wait for a GPU once there is one."""
    with_gpu = Worker(idle.queue, "gpu", "NVIDIA Test")
    support.wait_until(lambda: idle.get("/v1/workers").json["workers"], "the GPU")
    cuda = evaluation(
        "x", id="cuda", candidate={"source": "__global__ void solution() {}"}
    )
    assert idle.post("/v1/evaluations?wait_s=60", cuda).json["worker"] == "gpu"
    with_gpu.stop(signal.SIGKILL)  # its note stays for a while
    cpu = Worker(idle.queue, "cpu")
    assert idle.evaluate("y").json["worker"] == "cpu"
    assert (
        idle.post("/v1/evaluations?wait_s=1", cuda | {"id": "2", "fresh": True}).status
        == 202
    )
    cpu.stop()


# --- cancelling -----------------------------------------------------------------------------------


def test_cancel_a_queued_one(idle):
    idle.post("/v1/evaluations", evaluation(id="x"))
    waiter = idle.later("GET", "/v1/evaluations/x?wait_s=300")
    support.wait_until(lambda: idle.waiters() == 1, "a waiter")
    answer = idle.delete("/v1/evaluations/x")
    assert answer.status == 202 and answer.json == {"id": "x", "state": "cancelled"}
    assert waiter.result(support.TIMEOUT_S).json["state"] == "cancelled"
    assert idle.delete("/v1/evaluations/x").status == 202  # it is what was asked for


def test_cancel_a_running_one_really_stops_it(server):
    server.post("/v1/evaluations", evaluation("delay_ms=600000", id="x"))
    support.wait_until(
        lambda: server.get("/v1/evaluations/x").json["state"] == "running", "the worker"
    )
    waiter = server.later("GET", "/v1/evaluations/x?wait_s=300")
    answer = server.delete("/v1/evaluations/x")
    assert answer.status == 202 and answer.json["state"] == "running"
    ended = waiter.result(support.TIMEOUT_S).json
    assert ended["state"] == ended["outcome"] == "cancelled"


def test_cancel_of_ended_and_unknown_jobs(server):
    server.evaluate(id="x")
    refusal(server.delete("/v1/evaluations/x"), 409, "ended")
    refusal(server.delete("/v1/evaluations/y"), 404, "not_found")
    refusal(server.get("/v1/evaluations/y"), 404, "not_found")
    refusal(server.get("/v1/evaluations/y?wait_s=60"), 404, "not_found")
    refusal(server.get("/v1/evaluations/" + "y" * 300), 404, "not_found")


# --- lists ----------------------------------------------------------------------------------------


def test_lists_and_pages(idle):
    for i in range(25):
        idle.post("/v1/evaluations", evaluation(str(i), id=f"j{i}", notes={"i": i}))
    idle.delete("/v1/evaluations/j3")
    found, before, pages = [], None, 0
    while pages == 0 or before:
        path = "/v1/evaluations?limit=10" + (f"&before={before}" if before else "")
        page = idle.get(path).json
        found += page["evaluations"]
        before = page["before"]
        pages += 1
    assert [one["id"] for one in found] == [f"j{i}" for i in reversed(range(25))]
    assert found[0]["notes"] == {"i": 24} and "verdict" not in found[0]
    cancelled = idle.get("/v1/evaluations?state=cancelled&verdict=true").json[
        "evaluations"
    ]
    assert [one["id"] for one in cancelled] == ["j3"] and cancelled[0][
        "verdict"
    ] is None
    assert len(idle.get("/v1/evaluations?state=queued").json["evaluations"]) == 24


# --- batches --------------------------------------------------------------------------------------


def test_a_batch(server):
    items = [
        evaluation("status=wrong", id="a"),
        evaluation("status=passed b"),
        evaluation("c"),
    ]
    answer = server.post("/v1/batches?wait_s=60", {"id": "b1", "evaluations": items})
    assert answer.status == 200
    batch = answer.json
    assert batch["id"] == "b1" and batch["count"] == 3
    assert batch["states"] == {"queued": 0, "running": 0, "done": 3, "cancelled": 0}
    assert batch["outcomes"] == {"passed": 2, "wrong": 1}
    assert batch["evaluations"][0] == {"id": "a", "submission": "new"}
    got = server.get("/v1/batches/b1?evaluations=true").json
    assert [one["id"] for one in got["evaluations"]] == [
        one["id"] for one in reversed(batch["evaluations"])
    ]
    assert {one["batch"] for one in got["evaluations"]} == {"b1"}
    assert (
        server.get("/v1/batches/b1?wait_s=60").json == server.get("/v1/batches/b1").json
    )
    listed = server.get("/v1/evaluations?batch=b1").json["evaluations"]
    assert len(listed) == 3


def test_a_batch_waits_for_those_that_were_there_already(idle):
    idle.post("/v1/evaluations", evaluation("status=wrong", id="old"))
    waiting = idle.later(
        "POST",
        "/v1/batches?wait_s=300",
        {"evaluations": [evaluation("n"), evaluation("status=wrong", id="old")]},
    )
    support.wait_until(lambda: idle.waiters() == 1, "a waiter")
    worker = Worker(idle.queue)
    batch = waiting.result(support.TIMEOUT_S).json
    worker.stop()
    assert [one["submission"] for one in batch["evaluations"]] == ["new", "joined"]
    assert batch["outcomes"] == {"passed": 1, "wrong": 1}


def test_a_batch_is_all_or_nothing(idle):
    items = [evaluation(id="a"), evaluation(id="b"), evaluation(prioritty="high")]
    message = refusal(idle.post("/v1/batches", {"evaluations": items}), 400)
    assert message.startswith("evaluations[2]: ") and "priority" in message
    assert idle.get("/v1/evaluations").json["evaluations"] == []


def test_cancel_a_batch(server):
    items = [
        evaluation("delay_ms=600000 " + str(i)) for i in range(12)
    ]  # eight of them run
    server.post("/v1/batches", {"id": "b", "evaluations": items})
    support.wait_until(
        lambda: server.get("/v1/batches/b").json["states"]["running"] == 8,
        "eight that run",
    )
    waiter = server.later("GET", "/v1/batches/b?wait_s=300")
    assert server.delete("/v1/batches/b").status == 202
    assert waiter.result(support.TIMEOUT_S).json["outcomes"] == {"cancelled": 12}
    refusal(server.delete("/v1/batches/none"), 404)
    refusal(server.get("/v1/batches/none?wait_s=5"), 404)
    refusal(server.get("/v1/batches/none"), 404)


# --- events ---------------------------------------------------------------------------------------


def test_events_of_an_evaluation(idle):
    idle.post("/v1/evaluations", evaluation("vector=wrong delay_ms=300", id="x"))
    stream = idle.events("/v1/evaluations/x/events")
    name, first = next(stream)
    assert name == "state" and first["state"] == "queued" and "verdict" not in first
    worker = Worker(idle.queue)
    rest = list(stream)
    worker.stop()
    assert [(name, one["state"]) for name, one in rest[-2:]] == [
        ("state", "done"),
        ("verdict", "done"),
    ]
    assert rest[-1][1]["verdict"]["status"] == "wrong"
    assert [name for name, _ in idle.events("/v1/evaluations/x/events")] == [
        "state",
        "verdict",
    ]
    refusal(idle.get("/v1/evaluations/none/events"), 404)


def test_events_of_a_batch(idle):
    items = [evaluation(f"status=wrong {i}", id=f"m{i}") for i in range(30)]
    idle.post("/v1/batches", {"id": "b", "evaluations": items})
    idle.delete("/v1/evaluations/m7")
    stream = idle.events("/v1/batches/b/events")
    assert next(stream)[1]["id"] == "m7"
    worker = Worker(idle.queue)
    rest = list(stream)
    worker.stop()
    assert sorted(one["id"] for name, one in rest if name == "evaluation") == sorted(
        f"m{i}" for i in range(30) if i != 7
    )
    assert rest[-1][0] == "batch" and rest[-1][1]["outcomes"] == {
        "cancelled": 1,
        "wrong": 29,
    }
    refusal(idle.get("/v1/batches/none/events"), 404)


def test_events_of_everything(server):
    stream = server.events("/v1/events")
    connection_made = server.later(
        "POST", "/v1/evaluations?wait_s=60", evaluation(id="first")
    )
    seen = []
    for name, event in stream:
        assert name == "state" and set(event) == {"id", "batch", "state", "outcome"}
        seen.append((event["id"], event["state"]))
        if seen[-1] == ("first", "done"):
            break
    assert connection_made.result(support.TIMEOUT_S).status == 200


# --- problems, workers, figures -------------------------------------------------------------------


def test_problems(idle):
    problems = {one["id"]: one for one in idle.get("/v1/problems").json["problems"]}
    assert (
        problems["softmax"]["format"] == "native"
        and len(problems["softmax"]["hash"]) == 64
    )
    one = idle.get("/v1/problems/softmax").json
    assert {key: one[key] for key in problems["softmax"]} == problems["softmax"]
    folder = support.problem_folder("softmax")
    assert one["files"]["problem.yaml"] == (folder / "problem.yaml").read_text(
        encoding="utf-8"
    )
    assert "solution" in one["files"]["reference.c"]
    torch = next(name for name in problems if name.startswith("torch/"))
    assert (
        "class Model" in idle.get(f"/v1/problems/{torch}").json["files"]["problem.py"]
    )
    assert problems["softmax"]["languages"] == ["c", "cpp", "cuda"]
    assert "triton" in problems[torch]["languages"]
    assert "softmax" in refusal(idle.get("/v1/problems/sofmax"), 404)
    for path in ("..%2F..%2FREADME.md", "%2Fetc%2Fpasswd", "a/../../b", "./x"):
        answer = idle.get(f"/v1/problems/{path}")
        refusal(answer, answer.status)


def test_workers_and_stats(server):
    (worker,) = server.get("/v1/workers").json["workers"]
    assert worker["name"] == "fake" and worker["claims"] == ["cpu", "any"]
    server.evaluate("status=wrong")
    stats = server.get("/v1/stats").json
    assert stats["ended"] == {"wrong": 1} and stats["running"] == 0
    assert stats["queued"]["normal"] == {"depth": 0, "oldest_ms": 0}


def test_server_timing(server):
    def spent(answer):
        pairs = re.findall(r"(\w+);dur=([\d.]+)", answer.headers["Server-Timing"])
        return {name: float(ms) for name, ms in pairs}

    started = time.monotonic()
    answer = server.evaluate("status=passed delay_ms=200")
    wall_ms = 1e3 * (time.monotonic() - started)
    parts = spent(answer)
    assert list(parts) == ["put", "wait"] and parts["put"] > 0 and parts["wait"] >= 200
    assert sum(parts.values()) <= wall_ms
    assert (
        spent(server.post("/v1/evaluations", evaluation("status=passed")))["wait"]
        < wall_ms
    )
    assert (
        "Server-Timing"
        not in server.get(f"/v1/evaluations/{answer.json['id']}").headers
    )


def test_health_ready_metrics(idle):
    health = idle.get("/health")
    assert health.status == 503 and health.json["status"] == "unhealthy"
    assert "worker" in health.json["detail"]
    assert idle.get("/ready").json["ready"] is True
    idle.post("/v1/evaluations", evaluation(priority="high"))
    wanted = 'warpgym_queue_depth{priority="high"} 1'
    support.wait_until(lambda: wanted in idle.get("/metrics").text, "the depth")
    worker = Worker(idle.queue, "gpu", "NVIDIA Test")
    support.wait_until(lambda: idle.get("/health").status == 200, "health")
    assert idle.get("/health").json["gpu_status"]["cuda:0"]["name"] == "NVIDIA Test"
    health = idle.get("/health").json["memory_usage"]
    assert 0 <= health["cpu_percent"] <= 100 and 0 < health["memory_percent"] < 100
    wanted = 'warpgym_queue_ended_jobs{outcome="passed"} 1'
    support.wait_until(lambda: wanted in idle.get("/metrics").text, "the end")
    assert 'warpgym_workers{kind="gpu"} 1' in idle.get("/metrics").text
    json_metrics = idle.get("/metrics", headers={"Accept": "application/json"}).json
    assert json_metrics["queue_metrics"]["completed_tasks"] == 1
    worker.stop()


def test_openapi(idle):
    document = json.loads(
        idle.get("/openapi.json").text
    )  # its "verdict" are no verdicts
    assert (
        document["openapi"] == "3.1.0" and "/v1/evaluations/{id}" in document["paths"]
    )


# --- refusals -------------------------------------------------------------------------------------

BAD_EVALUATIONS = [
    ({}, "problem"),
    ({"problem": {"id": "softmax"}}, "candidate"),
    (evaluation(id=""), "id"),
    (evaluation(id="a\u0001"), "id"),
    (evaluation(id="x" * 256), "id"),
    (evaluation(id="a/b"), "path"),
    (evaluation(priority="hurry"), "priority"),
    (evaluation(timeout_ms=0), "timeout_ms"),
    (evaluation(settings={"python.path": "/bin/sh"}), "python.path"),
    (evaluation(settings={"timing.min_samples": 500}), "timing"),
    (evaluation(problem={"id": "no such problem"}), "problem"),
    (evaluation(problem={"id": "../../x"}), "path"),
    (evaluation(notes={"a": "x" * 20000}), "notes"),
    (evaluation(problem={"format": "torch", "source": "x" * (2 << 20)}), "source"),
]


@pytest.mark.parametrize("body, word", BAD_EVALUATIONS)
def test_bad_evaluations(idle, body, word):
    answer = idle.post("/v1/evaluations", body)
    assert answer.status in (400, 413) and word in refusal(answer, answer.status)
    many = {"evaluations": [evaluation(), body]}
    answer = idle.post("/v1/batches", many)
    assert refusal(answer, answer.status).startswith("evaluations[1]: ")
    assert idle.get("/v1/evaluations").json["evaluations"] == []


BAD_QUERIES = [
    "/v1/evaluations?limit=0",
    "/v1/evaluations?limit=1001",
    "/v1/evaluations?state=sleeping",
    "/v1/evaluations?batch=%01",
    "/v1/evaluations?sate=queued",
    "/v1/evaluations/x?wait_s=601",
    "/v1/evaluations/x?wait_s=-1",
    "/v1/evaluations/x?verdict=perhaps",
    "/v1/batches/x?wait=1",
]


@pytest.mark.parametrize("path", BAD_QUERIES)
def test_bad_queries(idle, path):
    refusal(idle.get(path), 400)


BAD_BATCHES = [
    {},
    {"evaluations": []},
    {"evaluations": {}},
    {"evaluations": [1]},
    {"evaluations": [{}] * 1001},
    {"id": "", "evaluations": [evaluation()]},
    {"ids": "x", "evaluations": [evaluation()]},
]


@pytest.mark.parametrize("body", BAD_BATCHES)
def test_bad_batches(idle, body):
    refusal(idle.post("/v1/batches", body), 400)


def test_a_full_queue(warpgym):
    with serving.serving(warpgym, "-s", "server.queue_max=3", worker=False) as server:
        for i in range(3):
            assert server.post("/v1/evaluations", evaluation(str(i))).status == 202
        answer = server.post("/v1/evaluations", evaluation("too much"))
        refusal(answer, 429, "queue_full")
        assert int(answer.headers["Retry-After"]) > 0
        refusal(
            server.post("/v1/batches", {"evaluations": [evaluation()]}),
            429,
            "queue_full",
        )
        worker = Worker(server.queue)
        support.wait_until(  # 200: it has been judged before the answer was written
            lambda: server.post("/v1/evaluations", evaluation("later")).status in (200, 202),
            "capacity",
        )
        worker.stop()


def test_token(warpgym):
    with serving.serving(warpgym, "-s", "server.token=sesame", worker=False) as server:
        paths = (
            "/v1/evaluations",
            "/v1/events",
            "/openapi.json",
            "/metrics",
            "/",
            "/status/x",
        )
        for path in paths:
            assert server.get(path).status == 401, path
        assert (
            server.get("/ready").status == 200 and server.get("/health").status == 503
        )
        server.token = "sesame"
        assert server.get("/v1/evaluations").status == 200
        server.token = "wrong"
        assert server.get("/v1/evaluations").status == 401


# --- life and death -------------------------------------------------------------------------------


def test_starts_fast_and_says_where(idle):
    assert (
        idle.started_s < 10
    )  # the bar is 1 s; sanitizers and a busy machine are slower
    assert f"127.0.0.1:{idle.port}" in idle.first_line


def test_killed_while_clients_wait(warpgym):
    server = Server(warpgym)
    ids = [f"k{i}" for i in range(20)]
    waiting = [
        server.later("POST", "/v1/evaluations?wait_s=300", evaluation(one, id=one))
        for one in ids
    ]
    support.wait_until(lambda: server.waiters() == len(ids), "waiters")
    server.stop(signal.SIGKILL)
    for future in waiting:
        assert isinstance(future.exception(support.TIMEOUT_S), Exception)
    with serving.serving(warpgym) as again:  # the same file
        for one in ids:
            # As a client does that does not know what became of its request.
            answer = again.evaluate(one, id=one)
            assert answer.json["state"] == "done" and answer.json["submission"] != "new"
        listed = again.get("/v1/evaluations?limit=1000").json["evaluations"]
        assert sorted(one["id"] for one in listed) == sorted(ids)


def test_a_worker_that_dies_costs_its_lease(warpgym):
    with serving.serving(warpgym, worker=False) as server:
        dying = Worker(server.queue, "dying", lease_ms=500)
        waiter = server.later(
            "POST", "/v1/evaluations?wait_s=300", evaluation("delay_ms=60000")
        )
        support.wait_until(
            lambda: server.get("/v1/stats").json["running"] == 1, "the job to be taken"
        )
        dying.stop(signal.SIGKILL)
        support.wait_until(
            lambda: server.get("/v1/stats").json["running"] == 0, "the lease"
        )
        (one,) = server.get("/v1/evaluations").json["evaluations"]
        assert one["state"] == "queued" and one["reason"]
        server.delete(f"/v1/evaluations/{one['id']}")
        assert waiter.result(support.TIMEOUT_S).json["state"] == "cancelled"


def test_two_servers_on_one_queue(warpgym, tmp_path):
    with serving.serving(warpgym, worker=False) as one:
        other = Server(warpgym, queue=one.queue)
        one.post("/v1/evaluations", evaluation("status=wrong", id="x"))
        waiter = other.later("GET", "/v1/evaluations/x?wait_s=300")
        support.wait_until(lambda: other.waiters() == 1, "a waiter")
        worker = Worker(one.queue)
        assert waiter.result(support.TIMEOUT_S).json["outcome"] == "wrong"
        # What one of them remembers does not outlive a new run through the other.
        fresh = evaluation("status=passed", id="x", fresh=True)
        assert one.post("/v1/evaluations?wait_s=60", fresh).json["outcome"] == "passed"
        assert other.get("/v1/evaluations/x").json["outcome"] == "passed"
        worker.stop()
        assert other.stop() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it_and_answers_waiting_clients(warpgym, number):
    server = Server(warpgym)
    waiting = [
        server.later("POST", "/v1/evaluations?wait_s=300", evaluation(str(i)))
        for i in range(5)
    ]
    followed = server.events("/v1/events")
    support.wait_until(lambda: server.waiters() == 5, "waiters")
    started = time.monotonic()
    assert server.stop(number) == 0
    assert time.monotonic() - started < support.WAIT_S
    for future in waiting:
        answer = future.result(support.TIMEOUT_S)
        assert answer.status == 503 and answer.headers["Retry-After"], answer
    followed.close()
    log = (warpgym.folder / "serve.log").read_text(encoding="utf-8").splitlines()
    assert any(json.loads(line)["msg"] == "stopping" for line in log)


def test_the_log_records_the_end_of_a_job(warpgym):
    server = Server(warpgym, "--set", "log.level=debug")
    server.post(
        "/v1/batches",
        {"id": "b", "evaluations": [evaluation(id=id) for id in ("x", "y")]},
    )
    server.post("/v1/evaluations", evaluation(id="x"))
    assert server.delete("/v1/evaluations/x").status == 202
    assert server.stop() == 0
    lines = (warpgym.folder / "serve.log").read_text(encoding="utf-8").splitlines()
    of_x = [record for record in map(json.loads, lines) if record.get("job") == "x"]
    events = [(record["msg"], record.get("as"), record.get("batch")) for record in of_x]
    assert events == [
        ("taken", "new", "b"),
        ("taken", "joined", ""),
        ("cancelled", None, None),
    ]


def test_usage_errors(warpgym):
    taken = Server(warpgym)
    for arguments, words in (
        (["extra"], "extra"),
        (["--workers", "many"], "workers"),
        (["--listen", "nowhere at all"], "nowhere"),
        (["--listen", "0.0.0.0:0"], "token"),
        (["--queue", "mysql:x"], "queue"),
        (["-s", "server.threads=0"], "server.threads"),
        (["--listen", f"127.0.0.1:{taken.port}"], "127.0.0.1"),
    ):
        without = () if "--workers" in arguments else ("--workers", "none")
        run = warpgym("serve", *without, *arguments)
        assert run.status in (support.USAGE, support.INFRASTRUCTURE), run
        assert words in run.complaint, run
    assert taken.stop() == 0


def test_with_a_worker_inside(warpgym):
    server = Server(warpgym, "--workers", "1")
    source = support.fast("softmax").read_text(encoding="utf-8")
    body = {
        "problem": {"id": "softmax"},
        "candidate": {"source": source},
        "timing": False,
    }
    answer = server.post("/v1/evaluations?wait_s=300", body)
    assert answer.json["outcome"] == "passed", answer
    assert server.stop() == 0
