"""A server of the tests' own, a worker that judges nothing, and a client of a few lines."""

import concurrent.futures
import contextlib
import http.client
import json
import os
import signal
import subprocess
import threading
import time
from urllib.parse import urlsplit

import support
import verdicts

FAKE_WORKER = support.CHECKOUT / "build" / "tests" / "server" / "fake_worker"


class Answer:
    def __init__(self, status, headers, text):
        self.status = status
        self.headers = headers
        self.text = text

    @property
    def json(self):
        return verdicts.checked(json.loads(self.text))

    def __repr__(self):
        return f"{self.status} {dict(self.headers)}\n{self.text[:2000]}"


class Server:
    """`warpgym serve --workers none` on a free port."""

    def __init__(self, warpgym, *arguments, queue=None, **options):
        self.warpgym = warpgym
        self.queue = queue or f"sqlite:{warpgym.folder / 'queue.db'}"
        self.log = (warpgym.folder / "serve.log").open("ab")  # noqa: SIM115 - as long as it serves
        self.token = None
        started = time.monotonic()
        self.process = warpgym.start(
            "serve", "--listen", "127.0.0.1:0", "--queue", self.queue, "--workers", "none",
            *arguments, stderr=self.log, **options,
        )  # fmt: skip
        self.first_line = self.process.stdout.readline().decode()
        self.started_s = time.monotonic() - started
        assert self.first_line.startswith("warpgym: serving at http://127.0.0.1:"), self.first_line
        self.port = urlsplit(self.first_line.split()[3].rstrip(",")).port

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def connect(self, timeout=support.TIMEOUT_S):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def ask(self, method, path, body=None, headers=None, timeout=support.TIMEOUT_S):
        headers = dict(headers or {})
        if self.token:
            headers.setdefault("Authorization", f"Bearer {self.token}")
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
        connection = self.connect(timeout)
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            return Answer(response.status, response.headers, response.read().decode())
        finally:
            connection.close()

    def get(self, path, **options):
        return self.ask("GET", path, **options)

    def post(self, path, body, **options):
        return self.ask("POST", path, body, **options)

    def evaluate(self, words="", **more):
        """The answer to one evaluation, once it has ended."""
        return self.post("/v1/evaluations?wait_s=60", evaluation(words, **more))

    def delete(self, path):
        return self.ask("DELETE", path)

    def later(self, *arguments, **options):
        """The same as ask, in a thread of its own: a future."""
        future = concurrent.futures.Future()

        def run():
            try:
                future.set_result(self.ask(*arguments, **options))
            except Exception as error:  # noqa: BLE001, the caller of result() gets it
                future.set_exception(error)

        threading.Thread(target=run, daemon=True).start()
        return future

    def events(self, path):
        """Yields (name, data) until the stream ends."""
        connection = self.connect()
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            assert response.status == 200, response.read()
            assert response.getheader("Content-Type") == "text/event-stream"
            name = None
            for line in response:
                key, _, value = line.decode().rstrip("\n").partition(": ")
                if key == "event":
                    name = value
                elif key == "data":
                    yield name, verdicts.checked(json.loads(value))
        finally:
            connection.close()

    def waiters(self):
        for line in self.get("/metrics").text.splitlines():
            if line.startswith("warpgym_http_waiting "):
                return float(line.split()[1])
        return 0

    def stop(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            os.killpg(self.process.pid, number)
        status = self.process.wait(timeout=support.TIMEOUT_S)
        self.process.stdout.close()
        self.log.close()
        return status


class Worker:
    """tests/server/fake_worker.c"""

    def __init__(self, queue, name="fake", model="cpu", lease_ms=60000):
        self.process = subprocess.Popen(
            [FAKE_WORKER, queue, name, model, str(lease_ms)],
            stdout=subprocess.PIPE,
            pipesize=1 << 20,  # not every test reads what it claimed
            cwd=support.ROOT,
        )
        assert self.process.stdout.readline() == b"ready\n"
        self.claimed = []
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        """Reads all the time: a pipe holds some 2500 lines, after which the writer blocks."""
        self.claimed += (line.decode().split()[1] for line in self.process.stdout)

    def stop(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(number)
        self.process.wait(timeout=support.TIMEOUT_S)
        self.reader.join(support.TIMEOUT_S)
        self.process.stdout.close()
        return self.claimed


def evaluation(words="", **more):
    """A request whose candidate prescribes the fake worker's verdict."""
    return {
        "problem": {"id": "softmax"},
        "candidate": {"source": f"/* {words} */ void solution(void) {{}}"},
    } | more


@contextlib.contextmanager
def serving(warpgym, *arguments, worker=True, **options):
    server = Server(warpgym, *arguments, **options)
    fake = None
    try:
        if worker:
            fake = Worker(server.queue)
            support.wait_until(lambda: server.get("/v1/workers").json["workers"], "a worker")
        yield server
    finally:
        if fake:
            fake.stop()
        status = server.stop()
        assert status in (0, -signal.SIGKILL), (
            status,
            (warpgym.folder / "serve.log").read_text(encoding="utf-8"),
        )
