"""Servers, workers and Redis die at random instants; every acknowledged evaluation ends, with the
verdict that its candidate deserves, and everybody who waits is answered.

FAULT_TRIALS deaths for each store (6); `make faults` has 160.
"""

import concurrent.futures
import os
import random
import shutil
import threading
import time

import cluster
import pytest

TRIALS = int(os.environ.get("FAULT_TRIALS", "6"))
CLIENTS = 4
STORES = ["sqlite", "redis"]
DOWN_S = 0.4


@pytest.fixture
def make(tmp_path, request):
    made = []

    def start(store, **sizes):
        if store == "redis" and not shutil.which("redis-server"):
            pytest.skip("no redis-server here (./setup.sh installs it)")
        made.append(cluster.Cluster(tmp_path, store, **sizes))
        return made[-1]

    yield start
    for one in made:
        one.close()


class Clients:
    """Each submits one after the other and waits for it; what was acknowledged is remembered."""

    def __init__(self, service, servers):
        self.service, self.servers = service, servers
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
    cluster.wait_for(lambda: "worker0-1" in workers_of(service, "done"), "worker0 ended one")
    service.kill("worker0")
    died = time.monotonic()
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
        again += one["attempt"] > 1
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
    body = cluster.evaluation("slow")
    body["candidate"]["source"] = cluster.ENDLESS % "endless"
    body["settings"] = {"run.timeout_ms": "4s"}
    service.request("POST", "/v1/evaluations", body)
    running = lambda: service.request("GET", "/v1/evaluations/slow")[1]["state"] == "running"
    cluster.wait_for(running, "it runs")
    network.pull()
    cluster.wait_for(lambda: not running(), "its lease ends")
    network.plug()
    _, answer = service.request("GET", "/v1/evaluations/slow?wait_s=60")
    assert answer["outcome"] == "timeout", answer
    assert answer["attempt"] >= 2, answer
    status, answer = service.request("POST", "/v1/evaluations?wait_s=60", cluster.evaluation("next"))
    assert status == 200 and answer["outcome"] == "passed", answer


def test_a_worker_that_drains_loses_nothing(make):
    service = make("sqlite", servers=1, workers=1)
    body = cluster.evaluation("slow", "passed")
    body["candidate"]["source"] = cluster.ENDLESS % "endless"
    body["settings"] = {"run.timeout_ms": "3s"}
    service.request("POST", "/v1/evaluations", body)
    cluster.wait_for(
        lambda: service.request("GET", "/v1/evaluations/slow")[1]["state"] == "running", "it runs"
    )
    assert service.stop("worker0") == 0
    _, answer = service.request("GET", "/v1/evaluations/slow")
    assert answer["outcome"] == "timeout", answer
    assert answer["attempt"] == 1


@pytest.mark.parametrize("store", STORES)
def test_a_cancelled_evaluation_ends_at_once(make, store):
    service = make(store, servers=1, workers=1)
    body = cluster.evaluation("endless", "passed")
    body["candidate"]["source"] = cluster.ENDLESS % "endless"
    body["settings"] = {"run.timeout_ms": "10m"}
    service.request("POST", "/v1/evaluations", body)
    cluster.wait_for(
        lambda: service.request("GET", "/v1/evaluations/endless")[1]["state"] == "running",
        "it runs",
    )
    status, _ = service.request("DELETE", "/v1/evaluations/endless")
    assert status == 202
    _, answer = service.request("GET", "/v1/evaluations/endless?wait_s=30")
    assert answer["state"] == "cancelled", answer
    status, answer = service.request("POST", "/v1/evaluations?wait_s=60", cluster.evaluation("next"))
    assert status == 200 and answer["outcome"] == "passed", answer
