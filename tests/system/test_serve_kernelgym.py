"""KernelGYM's routes over HTTP: what the training client bundled with it sends, and reads."""


import pytest
import serving
import support
from serving import Worker
from vectors import vector

OUTCOMES = {
    "correct": "correct",
    "wrong": "wrong",
    "not compiling": "not_compiling",
    "timeout": "timeout",
    "crash": "crash",
    "decoy": "decoy",
}
ENDED = ("completed", "failed", "timeout", "cancelled")
FIELDS = ("status", "error_message", "compiled", "correctness", "decoy_kernel", "speedup")
NUMBERS = (
    "num_custom_kernels",
    "num_total_kernels",
    "custom_kernel_cuda_time_in_profiling_us",
    "total_kernel_run_time_in_profiling_us",
)


def request(words="", **more):
    base = vector("request")
    base["kernel_code"] += f"\n# {words} \n"
    return base | more


def envelope(answer, status=400):
    assert answer.status == status, answer
    body = answer.json
    assert body["error"] == "RequestValidationError" and body["task_id"] is None
    assert body["error_code"] == answer.headers["X-Error-Code"] == "VALIDATION_ERROR"
    return body["message"]


def client_reads(server, task_id):
    """Polls /status until the end, then /results where it completed, as the client does."""
    def ended():
        status = server.get(f"/status/{task_id}")
        return status.status == 200 and status.json["status"] in ENDED and status.json

    status = support.wait_until(ended, "the end")
    if status["status"] != "completed":
        return {"status": status["status"], "error_message": status["error_message"]}
    result = server.get(f"/results/{task_id}").json
    read = {key: result[key] for key in FIELDS}
    for key in NUMBERS:
        assert result["metadata"][key] == result[key]
        read[key] = result[key]
    return read


@pytest.mark.parametrize("name", OUTCOMES.values(), ids=OUTCOMES.keys())
def test_the_client_sequence(server, name):
    one = vector(name)
    body = request(f"vector={name}") | one.get("request", {})
    answer = server.post("/evaluate", body)
    assert answer.status == 200
    task_id = body["task_id"]
    # Consistent at the moment at which /evaluate returns.
    status = server.get(f"/status/{task_id}").json
    result = server.get(f"/results/{task_id}").json
    assert status["status"] == result["status"] == answer.json["status"]
    assert result == answer.json and result["task_id"] == task_id
    read = client_reads(server, task_id)
    assert read == one["client"]
    workflow = server.get(f"/workflow/results/{task_id}").json
    assert workflow["status"] == result["status"]
    assert workflow["result"]["metadata"] == result["metadata"]
    for part in ("_kernel", "_ref"):
        assert server.get(f"/results/{task_id}{part}").json["task_id"] == task_id + part


def test_evaluate_answers_when_it_has_ended(idle):
    waiting = idle.later("POST", "/evaluate", request("vector=correct"))
    task_id = request()["task_id"]
    support.wait_until(lambda: idle.get(f"/status/{task_id}").status == 200, "the task")
    assert idle.get(f"/status/{task_id}").json["status"] == "pending"
    answer = idle.get(f"/results/{task_id}")
    assert answer.status == 404 and answer.json == {"detail": f"Task {task_id} not found"}
    assert not waiting.done()
    worker = Worker(idle.queue)
    assert waiting.result(support.TIMEOUT_S).json["status"] == "completed"
    worker.stop()


def test_the_same_task_in_flight_and_ended(idle):
    waiting = [idle.later("POST", "/evaluate", request("vector=wrong")) for _ in range(5)]
    support.wait_until(lambda: idle.waiters() == 5, "waiters")
    worker = Worker(idle.queue)
    answers = [future.result(support.TIMEOUT_S).json for future in waiting]
    assert all(answer == answers[0] for answer in answers)
    again = idle.post("/evaluate", request("vector=wrong")).json
    assert again == answers[0]
    fresh = idle.post("/evaluate", request("vector=correct", force_refresh=True)).json
    assert fresh["correctness"] is True
    assert len(worker.stop()) == 2


OTHERS = {
    "kernel": {"kernel_code": request("vector=correct")["kernel_code"]},
    "reference": {"reference_code": request()["reference_code"] + "# another\n"},
    "trials": {"num_correct_trials": 3},
    "workflow": {
        "workflow": "kernel_simple",
        "cases_code": "def get_cases():\n    return []\n",
        "entry_point": "ModelNew",
    },
}


def assert_id_refused(server, body):
    tasks = [request("vector=correct", task_id="new"), body]
    workflow = {"workflow": body.get("workflow", "kernelbench"), "payload": body}
    for answer in (
        server.post("/evaluate", body),
        server.post("/evaluate/batch", {"batch_id": "b", "tasks": tasks}),
        server.post("/workflow/submit", workflow),
    ):
        assert answer.status == 409 and body["task_id"] in answer.json["detail"], answer


@pytest.mark.parametrize("name", OTHERS)
def test_a_used_id_with_another_body(idle, name):
    """It gets neither the result that is there nor that of the task in flight."""
    body = request("vector=wrong")
    other = body | OTHERS[name]
    fresh = {"force_refresh": True}
    worker = Worker(idle.queue)
    first = idle.post("/evaluate", body).json
    assert first["correctness"] is False
    assert_id_refused(idle, other)
    result = f"/results/{body['task_id']}"
    assert idle.post("/evaluate", body).json == idle.get(result).json == first
    replaced = idle.post("/evaluate", other | fresh).json
    assert idle.get(result).json == replaced != first
    assert_id_refused(idle, body)
    assert len(worker.stop()) == 2
    flight = {"task_id": "in flight"}
    waiting = idle.later("POST", "/evaluate", body | flight)
    support.wait_until(lambda: idle.waiters() == 1, "a waiter")
    assert_id_refused(idle, other | flight)
    assert_id_refused(idle, other | flight | fresh)
    assert idle.get("/status/new").status == 404
    idle.delete("/tasks/in%20flight")
    waiting.result(support.TIMEOUT_S)


@pytest.mark.parametrize(("most", "measured"), [("1.5", 2), ("3", 1)])
def test_a_great_speedup_is_measured_again_for_another_task(warpgym, most, measured):
    """The clients' reward manager sends what looks too fast once more, under another id."""
    setting = f"server.remembered_speedup={most}"
    with serving.serving(warpgym, "-s", setting, worker=False) as server:
        worker = Worker(server.queue)
        support.wait_until(lambda: server.get("/v1/workers").json["workers"], "the worker")
        for name in ("first", "again"):
            answer = server.post("/evaluate", request("vector=correct", task_id=name)).json
            assert answer["correctness"] is True and 1.5 < answer["speedup"] < 3, answer
        assert len(worker.stop()) == measured


def test_a_batch_in_the_order_of_its_tasks(server):
    names = ["wrong", "correct", "not_compiling"]
    tasks = [request(f"vector={name}", task_id=f"t{i}") for i, name in enumerate(names)]
    answer = server.post("/evaluate/batch", {"batch_id": "b", "tasks": tasks})
    assert answer.status == 200
    batch = answer.json
    assert batch["batch_id"] == "b" and batch["batch_status"] == "completed"
    assert [one["task_id"] for one in batch["results"]] == ["t0", "t1", "t2"]
    assert [one["correctness"] for one in batch["results"]] == [False, True, False]
    assert (batch["total_tasks"], batch["completed_tasks"], batch["failed_tasks"]) == (3, 2, 1)
    tasks[1]["num_perf_trials"] = 0
    envelope(server.post("/evaluate/batch", {"batch_id": "c", "tasks": tasks}))


def test_workflow_submit(server):
    payload = request("vector=correct", num_perf_trials=5000)
    task_id = payload.pop("task_id")
    body = {"workflow": "kernelbench", "task_id": task_id, "payload": payload}
    answer = server.post("/workflow/submit", body)
    assert answer.status == 200 and answer.json["status"] == "completed"
    assert answer.json["result"]["correctness"] is True
    assert server.get(f"/workflow/results/{task_id}").json == answer.json


def test_an_invalid_text_ends_the_task(idle):
    body = request(kernel_code="def nothing_here(): pass")
    answer = idle.post("/evaluate", body)
    assert answer.status == 200 and answer.json["status"] == "failed"
    assert answer.json["error_code"] == "VALIDATION_ERROR"
    status = idle.get(f"/status/{body['task_id']}").json
    assert status["status"] == "failed" and "ModelNew" in status["error_message"]


def test_cancelling(idle):
    body = request()
    waiting = idle.later("POST", "/evaluate", body)
    support.wait_until(lambda: idle.waiters() == 1, "a waiter")
    path = f"/tasks/{body['task_id']}"
    answer = idle.delete(path)
    assert answer.status == 200 and "cancelled successfully" in answer.json["message"]
    ended = waiting.result(support.TIMEOUT_S).json
    assert (ended["status"], ended["error_code"]) == ("failed", "SYSTEM_ERROR")
    read = client_reads(idle, body["task_id"])
    assert read["status"] == "failed" and "cancelled" in read["error_message"]
    assert idle.delete(path).status == 404 and idle.delete("/tasks/none").status == 404


REFUSED = [
    ({}, "task_id"),
    (request(num_correct_trials=21), "num_correct_trials"),
    (request(timeout=9), "timeout"),
    (request(task_id=""), "task_id"),
    (request(task_id="x" * 101), "task_id"),
    (request(backend="hip"), "backend"),
    (request(priority="urgent"), "priority"),
    (request(reference_code=None), "reference_code"),
]


@pytest.mark.parametrize("body, word", REFUSED)
def test_requests_that_do_not_validate(idle, body, word):
    for path in ("/evaluate", "/debug/validate"):
        assert word in envelope(idle.post(path, body))
    assert idle.get("/queue/status").json["pending"] == 0


def test_unknown_names(idle):
    answer = idle.post("/evaluate", request(workflow="nothing"))
    assert answer.status == 400 and "nothing" in answer.json["detail"]
    assert idle.post("/evaluate", request(toolkit="nothing")).status == 500
    assert idle.post("/workflow/submit", {"payload": {}}).status == 400


def test_validate(idle):
    answer = idle.post("/debug/validate", request())
    assert answer.status == 200 and answer.json["valid"] is True
    answer = idle.post("/debug/validate", request(kernel_code="def nothing_here(): pass"))
    assert answer.status == 200 and answer.json["valid"] is False and answer.json["errors"]
    for key in ("toolkit", "backend_adapter"):
        answer = idle.post("/debug/validate", request(**{key: "nothing"}))
        assert answer.status == 200 and answer.json["valid"] is False
        assert answer.json["errors"] == ["Registry missing 'nothing'"]
        assert answer.json["kernel"]["valid"] and answer.json["reference"]["valid"]
    assert idle.post("/debug/validate", request(workflow="nothing")).status == 400


def test_the_routes_about_the_service(server):
    assert server.get("/").json["name"] == "KernelGym"
    assert server.get("/queue/status").json["pending"] == 0
    assert server.get("/workers/status").json["fake"]["status"] == "online"
    health = server.get("/monitoring/worker-health").json
    assert health["workers"]["fake"]["cuda_error_shutdown"] is False
    assert server.get("/monitoring/problematic-codes?min_errors=2").json["total_count"] == 0
    assert server.get("/monitoring/retry-queue").json["retry_queue_size"] == 0
    assert server.post("/monitoring/clear-error-history/abc", {}).json["status"] == "success"
    node = server.ask("POST", "/node/allocate?hostname=h1")
    assert node.status == 200 and node.json["hostname"] == "h1"
    envelope(server.ask("POST", "/node/allocate"))
    assert server.ask("POST", "/worker/register?worker_id=w&device=cuda:0").status == 501
    for route in ("unregister", "heartbeat", "evict_from_lb"):
        assert server.ask("POST", f"/worker/{route}?worker_id=w").status == 501
        envelope(server.ask("POST", f"/worker/{route}"))
    for path in ("/results/none", "/status/none", "/workflow/results/none"):
        answer = server.get(path)
        assert answer.status == 404 and "none" in answer.json["detail"]


def test_a_full_queue_says_retry_later(warpgym):
    with serving.serving(warpgym, "-s", "server.queue_max=1", worker=False) as server:
        first = server.later("POST", "/evaluate", request())
        support.wait_until(lambda: server.waiters() == 1, "a waiter")
        answer = server.post("/evaluate", request("other", task_id="t2"))
        assert answer.status == 429 and answer.headers["Retry-After"] and answer.json["detail"]
        server.delete(f"/tasks/{request()['task_id']}")
        assert "cancelled" in first.result(support.TIMEOUT_S).json["error_message"]
