"""What `warpgym serve` accepts, answers and stores, and where the time of one request goes."""

import concurrent.futures
import http.client
import json
import pathlib
import re
import statistics
import subprocess
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
WARPGYM = ROOT / "warpgym"
LOAD = ROOT / "build" / "bench" / "http_load"
NATIVE = ROOT / "problems" / "native"
MEMORY_JOBS = 200_000


class Served:
    """`warpgym serve` on a free port over a SQLite file, and what it said of itself."""

    def __init__(self, scratch, *arguments):
        started = time.perf_counter()
        self.process = subprocess.Popen(
            [WARPGYM, "serve", "--listen", "127.0.0.1:0", "--queue", f"sqlite:{scratch}/queue.db"]
            + ["--set", "log.level=error", *arguments],
            stdout=subprocess.PIPE,
            text=True,
        )
        self.url = self.process.stdout.readline().split()[3].rstrip(",")
        self.port = int(self.url.rpartition(":")[2])
        while self.ask("GET", "/ready")[0] != 200:
            time.sleep(0.001)
        self.started_s = time.perf_counter() - started

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)

    def ask(self, method, path, body=None, connection=None):
        """Status, headers and parsed body."""
        connection = connection or self.connect()
        headers = {"Content-Type": "application/json"} if body else {}
        connection.request(method, path, json.dumps(body) if body else None, headers)
        answer = connection.getresponse()
        return answer.status, answer.headers, json.loads(answer.read())

    def load(self, *arguments):
        """http_load's first line: rate and latencies."""
        run = subprocess.run(
            [LOAD, *arguments[:-1], self.url, arguments[-1]],
            capture_output=True,
            text=True,
            check=True,
            timeout=600,
        )
        return run.stdout.splitlines()[0].partition(": ")[2]

    def memory_mb(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024

    def jobs(self):
        stats = self.ask("GET", "/v1/stats")[2]
        return sum(queue["depth"] for queue in stats["queued"].values())

    def stop(self):
        self.process.terminate()
        self.process.communicate(timeout=120)


def evaluation(source="void solution(const float *x, float *y, unsigned long n) {}"):
    return {"problem": {"id": "relu"}, "candidate": {"source": source}}


def load(scratch):
    """Without workers: jobs are accepted, stored and reported; the client shares the processors."""
    one, fifty = scratch / "one.json", scratch / "fifty.json"
    one.write_text(json.dumps(evaluation()))
    fifty.write_text(json.dumps({"evaluations": [evaluation()] * 50}))
    limit = subprocess.run([LOAD, "--limit"], capture_output=True, text=True, check=True)
    print(f"  client alone: {limit.stdout.splitlines()[0].partition(': ')[2]}")
    served = Served(
        scratch, "--workers", "none", "--set", "server.queue_max=100000000"
    )
    print(f"  start to ready: {served.started_s:.3f} s; {served.memory_mb():.0f} MB")
    job = served.ask("POST", "/v1/evaluations", evaluation())[2]["id"]
    path = f"/v1/evaluations/{job}"
    waiting = ["--waiters", "1000", "--wait-path", f"{path}?wait_s=60"]
    for title, arguments in (
        ("submissions, one a request, 64 connections", ["--post", one, "/v1/evaluations"]),
        (
            "requests of 50 submissions, 4 connections",
            ["--connections", "4", "--post", fifty, "/v1/batches"],
        ),
        ("status reads, 64 connections", [path]),
        ("the same while 1,000 wait", [*waiting, path]),
    ):
        print(f"  {title}: {served.load(*arguments)}")
    report = []
    while (jobs := served.jobs()) < MEMORY_JOBS or len(report) < 2:
        report.append(f"{served.memory_mb():.0f} MB after {jobs:,} jobs")
        served.load("--connections", "4", "--seconds", "3", "--post", fifty, "/v1/batches")
    report.append(f"{served.memory_mb():.0f} MB after {jobs:,}")
    print("  memory: " + ", ".join(report))
    served.stop()


def spread(values):
    """median [lower quartile, upper quartile]"""
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:8.2f} [{low:.2f}, {high:.2f}]"


class Asker:
    """One client: a connection of its own, an evaluation at a time, from request to verdict."""

    def __init__(self, served, request):
        self.served, self.request = served, request
        self.local = threading.local()

    def __call__(self, number):
        if not hasattr(self.local, "connection"):
            self.local.connection = self.served.connect()
        body = self.request(number)
        start = time.perf_counter()
        status, headers, answer = self.served.ask(
            "POST", "/v1/evaluations?wait_s=300", body, self.local.connection
        )
        total = (time.perf_counter() - start) * 1e3
        if status != 200 or answer["outcome"] != "passed":
            raise SystemExit(f"{status}: {answer}")
        server = dict(re.findall(r"(\w+);dur=([\d.]+)", headers["Server-Timing"]))
        put, wait = float(server["put"]), float(server["wait"])
        parts = {"HTTP, both ways": total - put - wait, "put (durable)": put}
        if answer["submission"] == "cached":
            return parts | {"answer": wait, "total": total}
        stages = answer["verdict"]["stages_ms"]
        late = wait - sum(stages.values())
        return parts | stages | {"verdict to answer": late, "total": total}


def split(scratch):
    """With the worker inside. `queue` is until the job began; the last but one is what comes after
    the verdict: its commit, the event, the answer."""
    served = Served(scratch)
    fast = (NATIVE / "softmax" / "tests" / "fast.c").read_text()
    torch = (ROOT / "problems" / "torch" / "tests" / "two_outputs.fast.py").read_text()

    def native(number):
        text = f"{fast}\n/* {number} {time.time_ns()} */\n"
        return {"problem": {"id": "softmax"}, "candidate": {"source": text}}

    def cached(_number):
        return {"problem": {"id": "softmax"}, "candidate": {"source": fast}, "fresh": True}

    def python(number):
        text = f"{torch}\n# {number} {time.time_ns()}\n"
        return {
            "problem": {"id": "torch/two_outputs"},
            "candidate": {"source": text, "name": "a.py"},
        }

    def known(_number):
        return {"problem": {"id": "softmax"}, "candidate": {"source": fast}}

    for title, request, clients, count in (
        ("C, compiled, one client", native, 1, 40),
        ("C, cached build, one client", cached, 1, 40),
        ("C, compiled, eight clients", native, 8, 80),
        ("PyTorch, one client", python, 1, 20),
        ("C, verdict known", known, 1, 200),
    ):
        ask = Asker(served, request)
        ask(-1)  # what is made once
        with concurrent.futures.ThreadPoolExecutor(clients) as pool:
            parts = list(pool.map(ask, range(count)))
        print(f"  {title}: {count} evaluations, ms: median [quartiles]")
        for name in parts[0]:
            print(f"    {name:20} {spread([part[name] for part in parts])}")
    served.stop()
