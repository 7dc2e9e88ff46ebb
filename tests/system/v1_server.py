"""A server of the API under /v1 that a test scripts.

`judge(request)` makes the verdict of each evaluation in a thread of its own; what it returns is
what clients get, made whole. `faults` is a list of what befalls the next requests, one each: a
status, "cut" (the connection ends), "half" (in the middle of the answer), "garbage" (no JSON).
"""

import contextlib
import datetime
import json
import threading
import time
from urllib.parse import parse_qs, unquote, urlsplit

import fake_http
from verdicts import whole

ENDED = ("done", "cancelled")


def plain_verdict(request):
    """Passed, unless its text says otherwise."""
    source = request["candidate"]["source"]
    status = "wrong" if "wrong" in source else "passed"
    problem, name = request["problem"].get("id", "inline/x"), request["candidate"].get("name", "c")
    return {
        "id": "0" * 32,
        "problem": {"id": problem, "format": "native", "hash": "h"},
        "candidate": {"path": name, "language": "c", "hash": "c"},
        "device": "cpu",
        "status": status,
        "compiled": True,
        "correct": status == "passed",
    }


class Refusal(Exception):
    def __init__(self, status, message, retry_after_s=None):
        super().__init__(message)
        self.status, self.retry_after_s = status, retry_after_s


class Server(fake_http.FakeServer):
    def __init__(self, judge=plain_verdict, token=None):
        self.judge, self.token = judge, token
        self.faults, self.requests, self.waits = [], [], []
        self.jobs, self.batches = {}, {}
        self.changed = threading.Condition()
        self.refuse = lambda request: None  # a text: why an evaluation is not taken
        self.hold = False  # nothing is judged while it is set
        self.handler = self.handler or Handler
        super().__init__()

    def put(self, request, batch=None):
        why = self.refuse(request)
        if why:
            raise Refusal(400, why)
        if request["id"] in self.jobs:
            return "joined"
        now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")
        job = {
            "id": request["id"],
            "batch": batch,
            "state": "queued",
            "priority": request.get("priority", "normal"),
            "created_at": now.replace("+00:00", "Z"),
            "attempt": 1,
            "worker": None,
            "outcome": None,
            "reason": None,
            "verdict": None,
            "notes": request.get("notes"),
        }
        self.jobs[job["id"]] = job
        threading.Thread(target=self.run, args=(job, request), daemon=True).start()
        return "new"

    def run(self, job, request):
        with self.changed:
            self.changed.wait_for(lambda: not self.hold or job["state"] in ENDED)
            if job["state"] in ENDED:
                return
            job["state"], job["worker"] = "running", "w1"
            self.changed.notify_all()
        verdict = whole(self.judge(request))
        with self.changed:
            if job["state"] == "running":
                job |= {"state": "done", "outcome": verdict["status"], "verdict": verdict}
            self.changed.notify_all()

    def release(self):
        with self.changed:
            self.hold = False
            self.changed.notify_all()

    def cancel(self, job):
        with self.changed:
            if job["state"] in ENDED:
                raise Refusal(409, f"evaluation {job['id']} has ended")
            reason = "another client cancelled it"
            job |= {"state": "cancelled", "outcome": "cancelled", "reason": reason}
            self.changed.notify_all()

    def wait(self, jobs, seconds):
        self.waits.append(seconds)
        with self.changed:
            self.changed.wait_for(lambda: all(job["state"] in ENDED for job in jobs), seconds)

    def members(self, batch):
        return [self.jobs[name] for name in self.batches[batch]]

    def batch(self, name):
        states, outcomes = {}, {}
        for job in self.members(name):
            states[job["state"]] = states.get(job["state"], 0) + 1
            if job["outcome"]:
                outcomes[job["outcome"]] = outcomes.get(job["outcome"], 0) + 1
        items = [{"id": one, "submission": "new"} for one in self.batches[name]]
        counts = {"states": states, "outcomes": outcomes}
        return {"id": name, "count": len(items), **counts, "evaluations": items}


class Handler(fake_http.Handler):
    def answer(self, status, value, retry_after_s=None):
        headers = [] if retry_after_s is None else [("Retry-After", str(retry_after_s))]
        self.send_json(value, status, headers)

    def fault(self, kind):
        if kind == "cut":
            self.close_connection = True
        elif kind == "half":
            self.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{"id": ')
            self.close_connection = True
        elif kind == "garbage":
            self.send_text("<html>it works</html>")
        else:
            text = {"error": {"code": "busy", "message": "busy"}}
            self.answer(kind, text, retry_after_s=1 if kind in (429, 503) else None)

    def serve(self):
        server, body = self.fake, self.body()
        server.requests.append((self.command, self.path))
        if server.faults:
            self.fault(server.faults.pop(0))
            return
        try:
            if server.token and self.headers.get("Authorization") != f"Bearer {server.token}":
                raise Refusal(401, "a bearer token is wanted")
            parts = urlsplit(self.path)
            path = [unquote(part) for part in parts.path.split("/")[2:]]
            query = {key: values[0] for key, values in parse_qs(parts.query).items()}
            self.route(path, query, body)
        except Refusal as refusal:
            message = {"error": {"code": "refused", "message": str(refusal)}}
            self.answer(refusal.status, message, refusal.retry_after_s)

    do_GET = do_POST = do_DELETE = serve

    def route(self, path, query, body):
        server, kind, name = self.fake, path[0], path[1] if len(path) > 1 else None
        if self.command == "POST" and kind == "evaluations":
            server.put(body)
            self.evaluation(body["id"], query)
        elif self.command == "POST" and kind == "batches":
            self.put_batch(body)
        elif kind == "batches" and name not in server.batches:
            raise Refusal(404, f"there is no batch {name}")
        elif kind == "evaluations" and name and name not in server.jobs:
            raise Refusal(404, f"there is no evaluation {name}")
        elif path[2:] == ["events"]:
            self.events(server.members(name) if kind == "batches" else [server.jobs[name]])
        elif self.command == "DELETE" and kind == "evaluations":
            server.cancel(server.jobs[name])
            self.answer(202, {"id": name, "state": "cancelled"})
        elif self.command == "DELETE":
            for job in server.members(name):
                with contextlib.suppress(Refusal):
                    server.cancel(job)
            self.answer(202, server.batch(name))
        elif kind == "batches":
            server.wait(server.members(name), float(query.get("wait_s", 0)))
            self.answer(200, server.batch(name))
        elif name:
            self.evaluation(name, query)
        else:
            self.listing(query)

    def evaluation(self, name, query):
        job = self.fake.jobs[name]
        self.fake.wait([job], float(query.get("wait_s", 0)))
        self.answer(200 if job["state"] in ENDED else 202, job)

    def put_batch(self, body):
        server = self.fake
        for i, request in enumerate(body["evaluations"]):
            why = server.refuse(request)
            if why:
                raise Refusal(400, f"evaluations[{i}]: {why}")
        server.batches[body["id"]] = [request["id"] for request in body["evaluations"]]
        for request in body["evaluations"]:
            server.put(request, body["id"])
        self.answer(202, server.batch(body["id"]))

    def sequence(self, job):
        """Its place in the order of arrival, from 1 on."""
        return list(self.fake.jobs).index(job["id"]) + 1

    def listing(self, query):
        jobs = list(reversed(self.fake.jobs.values()))
        for key in ("state", "batch"):
            if key in query:
                jobs = [job for job in jobs if job[key] == query[key]]
        limit = int(query.get("limit", 20))
        if "before" in query:
            jobs = [job for job in jobs if self.sequence(job) < int(query["before"])]
        page = jobs[:limit]
        more = len(page) == limit  # perhaps: the real one says so, too, when these are the last
        before = self.sequence(page[-1]) if more else None
        if query.get("verdict") != "true":
            page = [{key: job[key] for key in job if key != "verdict"} for job in page]
        self.answer(200, {"evaluations": page, "before": before})

    def events(self, jobs):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        reported = {}
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            for job in jobs:
                if reported.get(job["id"]) != job["state"]:
                    reported[job["id"]] = job["state"]
                    self.event("state", {key: job[key] for key in job if key != "verdict"})
                    if job["state"] in ENDED:
                        self.event("verdict", job)
            if all(state in ENDED for state in reported.values()):
                return
            with self.fake.changed:
                self.fake.changed.wait(0.05)

    def event(self, name, value):
        text = f": comment\nevent: {name}\ndata: {json.dumps(value)}\n\n"
        self.wfile.write(text.encode())
        self.wfile.flush()
