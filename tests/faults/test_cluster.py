"""Servers, workers and Redis die at random instants; every acknowledged evaluation ends, with the
verdict that its candidate deserves, and every waiting client is answered.

FAULT_TRIALS deaths for each store (6); `make faults` has 160.
"""

import concurrent.futures
import contextlib
import datetime
import os
import random
import signal
import threading
import time

import cluster
import pytest
from support import descendants, wait_until

TRIALS = int(os.environ.get("FAULT_TRIALS", "6"))
CLIENTS = 4
STORES = ["sqlite", "redis"]
DOWN_S = 0.4
WAIT_MS = 3000  # beyond a lease: checks are periodic, and others' jobs come first


class Clients:
    """Each submits one after the other and waits for it; what was acknowledged is remembered."""

    def __init__(self, service, servers, each_new=False):
        """`each_new`: no two ask the same, so that each is judged."""
        self.service, self.servers, self.each_new = service, servers, each_new
        self.acknowledged, self.answered, self.ends = {}, {}, threading.Event()
        self.pool = concurrent.futures.ThreadPoolExecutor(CLIENTS)
        self.work = [self.pool.submit(self.run, index) for index in range(CLIENTS)]

    def run(self, index):
        draw = random.Random(index)
        count = 0
        while not self.ends.is_set():
            name = f"client{index}-{count}"
            count += 1
            outcome = draw.choice(list(cluster.SOURCES))
            body = cluster.evaluation(name, outcome)
            if self.each_new:
                body["candidate"]["source"] += f"/* {name} */\n"
            status, answer = self.service.insist("POST", "/v1/evaluations", body, self.servers)
            assert status in (200, 202), answer
            self.acknowledged[name] = outcome
            self.answered[name] = self.wait(name)

    def wait(self, name):
        while True:
            path = f"/v1/evaluations/{name}?wait_s=20"
            status, answer = self.service.insist("GET", path, None, self.servers)
            assert status == 200, (name, status, answer)
            if answer["state"] in ("done", "cancelled"):
                return answer

    def finish(self):
        self.ends.set()
        for one in self.work:
            one.result(timeout=300)
        self.pool.shutdown()


def check(service, clients, servers):
    """Each has ended, as it should; asked again, it says the same."""
    assert clients.acknowledged
    for name, outcome in clients.acknowledged.items():
        first = clients.answered[name]
        assert first["outcome"] == outcome, (name, first)
        assert first["verdict"]["status"] == outcome, (name, first)
        _, again = service.insist("GET", f"/v1/evaluations/{name}", None, servers)
        assert again["verdict"] == first["verdict"], name


@pytest.mark.parametrize("store", STORES)
def test_deaths(make, store):
    service = make(store, servers=2, workers=2)
    servers = ["server0", "server1"]
    clients = Clients(service, servers)
    draw = random.Random(os.environ.get("FAULT_SEED", "1"))
    for _ in range(TRIALS):
        time.sleep(draw.random() * 0.8)
        victim = draw.choice([name for name in service.processes if name != "redis" or draw.random() < 0.7])
        service.kill(victim)
        time.sleep(draw.random() * DOWN_S)
        service.start(victim)
    clients.finish()
    check(service, clients, servers)
    print(f"{TRIALS} deaths, {len(clients.acknowledged)} evaluations")


@pytest.mark.parametrize("store", STORES)
def test_the_clock_is_set(make, store):
    """By hours, forwards and back, for servers, workers and store at once."""
    if not cluster.CLOCK.exists():
        pytest.skip(f"{cluster.CLOCK} was not built: make tests")
    service = make(store, servers=2, workers=2, clock=True)
    servers = ["server0", "server1"]
    service.set_clock(30 * 86400)
    body = cluster.evaluation("later")
    created = when(service.request("POST", "/v1/evaluations", body)[1]["created_at"])
    assert created - datetime.datetime.now(datetime.UTC) > datetime.timedelta(days=29)
    clients = Clients(service, servers, each_new=True)
    draw = random.Random(os.environ.get("FAULT_SEED", "1"))
    for _ in range(TRIALS):
        time.sleep(draw.random() * 0.8)
        service.set_clock(draw.choice([-1, 1]) * draw.choice([2, 60, 3600, 86400]))
    clients.finish()
    check(service, clients, servers)
    print(f"{TRIALS} jumps, {len(clients.acknowledged)} evaluations")
    assert len(clients.acknowledged) >= CLIENTS, "no client waits for hours"


def test_sandboxes_die(make):
    """Candidates, compilers, references, and the processes that make boxes: each evaluation ends and
    has one verdict, the one it deserves, or that its process was killed, if it was its own."""
    service = make("sqlite", workers=1)
    clients = Clients(service, ["server0"], each_new=True)
    draw = random.Random(os.environ.get("FAULT_SEED", "1"))
    killed = 0
    while killed < 3 * TRIALS:
        time.sleep(0.1 + draw.random() * 0.2)  # twice the same build or job is a worse day than ours
        below = descendants(service.processes["worker0"].pid)
        if below:
            with contextlib.suppress(ProcessLookupError):
                os.kill(draw.choice(below).pid, signal.SIGKILL)
                killed += 1
    clients.finish()
    assert service.processes["worker0"].poll() is None
    odd = 0
    for name, outcome in clients.acknowledged.items():
        first = clients.answered[name]
        _, again = service.insist("GET", f"/v1/evaluations/{name}")
        assert again["verdict"] == first["verdict"], name
        error = first["verdict"]["error"]
        if first["outcome"] != outcome:
            assert first["outcome"] == "runtime_error" and error["class"] == "killed", (name, error)
            odd += 1
    print(f"{killed} deaths, {len(clients.acknowledged)} evaluations, {odd} felt it")
    status, answer = service.request("POST", "/v1/evaluations?wait_s=60", cluster.evaluation("next"))
    assert status == 200 and answer["outcome"] == "passed", answer


def when(text):
    return datetime.datetime.fromisoformat(text)


def workers_of(service, state):
    path = f"/v1/evaluations?state={state}&batch=many&limit=100"
    return [one["worker"] for one in service.request("GET", path)[1]["evaluations"]]


def test_a_batch_of_many_on_redis(make):
    """Three workers, two servers, one batch; one worker dies in the middle."""
    service = make("redis", servers=2, workers=3)
    outcomes = [list(cluster.SOURCES)[i % 3] for i in range(60)]
    batch = {
        "id": "many",
        "evaluations": [
            cluster.evaluation(f"many-{i}", outcome) for i, outcome in enumerate(outcomes)
        ],
    }
    status, answer = service.request("POST", "/v1/batches", batch)
    assert status in (200, 202), answer
    wait_until(lambda: "worker0-1" in workers_of(service, "done"), "worker0 ended one")
    service.kill("worker0")
    died, died_at = time.monotonic(), datetime.datetime.now(datetime.UTC)
    left = workers_of(service, "running").count("worker0-1")
    _, answer = service.insist("GET", "/v1/batches/many?wait_s=60", None, ["server1"])
    while answer["states"].get("queued", 0) + answer["states"].get("running", 0):
        _, answer = service.insist("GET", "/v1/batches/many?wait_s=60", None, ["server1"])
    took_s = time.monotonic() - died
    workers, again = set(), 0
    for i, outcome in enumerate(outcomes):
        _, one = service.request("GET", f"/v1/evaluations/many-{i}", server="server1")
        assert one["outcome"] == outcome, one
        workers.add(one["worker"])
        if one["attempt"] > 1:
            again += 1
            late_ms = (when(one["started_at"]) - died_at).total_seconds() * 1e3
            assert late_ms <= cluster.LEASE_MS + WAIT_MS, one
    assert workers == {"worker0-1", "worker1-1", "worker2-1"}
    assert again == left
    print(
        f"all 60 had ended {took_s:.1f} s after the death; {left} of the dead one's jobs went to "
        f"others, the lease is {cluster.LEASE_MS} ms"
    )


@pytest.fixture
def network():
    why = cluster.Network.why_not()
    if why:
        pytest.skip(why)
    made = cluster.Network()
    yield made
    made.close()


def test_a_cable_that_is_pulled(network, make):
    """The worker on the other host loses its lease, and another attempt has one verdict."""
    service = make("redis", servers=1, workers=1, network=network)
    service.begin_endless("slow", "4s")
    network.pull()
    wait_until(lambda: service.state("slow") != "running", "its lease ends")
    network.plug()
    _, answer = service.request("GET", "/v1/evaluations/slow?wait_s=60")
    assert answer["outcome"] == "timeout", answer
    assert answer["attempt"] >= 2, answer
    status, answer = service.request("POST", "/v1/evaluations?wait_s=60", cluster.evaluation("next"))
    assert status == 200 and answer["outcome"] == "passed", answer


def test_a_cable_that_is_pulled_again_and_again(network, make):
    """At random instants, for less and for more than a lease."""
    service = make("redis", servers=1, workers=1, network=network)
    clients = Clients(service, ["server0"], each_new=True)
    draw = random.Random(os.environ.get("FAULT_SEED", "1"))
    for _ in range(max(2, TRIALS // 3)):
        time.sleep(draw.random() * 0.6)
        network.pull()
        time.sleep(draw.random() * 2e-3 * cluster.LEASE_MS)
        network.plug()
    clients.finish()
    check(service, clients, ["server0"])
    print(f"{len(clients.acknowledged)} evaluations")


def test_a_worker_that_drains_loses_nothing(make):
    service = make("sqlite", servers=1, workers=1)
    service.begin_endless("slow", "3s")
    assert service.stop("worker0") == 0
    _, answer = service.request("GET", "/v1/evaluations/slow")
    assert answer["outcome"] == "timeout", answer
    assert answer["attempt"] == 1


@pytest.mark.parametrize("store", STORES)
def test_a_cancelled_evaluation_ends_at_once(make, store):
    service = make(store, servers=1, workers=1)
    service.begin_endless("endless", "10m")
    status, _ = service.request("DELETE", "/v1/evaluations/endless")
    assert status == 202
    _, answer = service.request("GET", "/v1/evaluations/endless?wait_s=30")
    assert answer["state"] == "cancelled", answer
    status, answer = service.request("POST", "/v1/evaluations?wait_s=60", cluster.evaluation("next"))
    assert status == 200 and answer["outcome"] == "passed", answer
