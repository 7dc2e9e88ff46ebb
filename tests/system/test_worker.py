"""`warpgym worker` by itself: what it shows of itself, and how it ends."""

import json
import re
import signal
import urllib.error
import urllib.request

import pytest
import serving
import support


class Alone:
    """A worker on a store of its own, with an address."""

    def __init__(self, warpgym, *arguments):
        self.log = (warpgym.folder / "worker.log").open("wb")
        self.queue = f"sqlite:{warpgym.folder / 'queue.db'}"
        self.process = warpgym.start(
            *("worker", "--queue", self.queue, "--listen", "127.0.0.1:0", *arguments),
            stderr=self.log,
        )
        line = self.process.stdout.readline().decode()
        self.address = re.search(r"metrics at (http://\S+)", line)[1]

    def get(self, path, token=None):
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        request = urllib.request.Request(self.address + path, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=support.TIMEOUT_S) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=support.TIMEOUT_S)
        self.log.close()
        return self.process.returncode


@pytest.fixture
def alone(warpgym):
    warpgym.environment["WARPGYM_PYTHON_PATH"] = "/bin/false"
    worker = Alone(warpgym)
    yield worker
    assert worker.stop() == 0


def values(text):
    """{series: value} of what Prometheus reads."""
    lines = (line for line in text.splitlines() if line and not line.startswith("#"))
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def test_metrics_and_health(warpgym, alone):
    assert alone.get("/health") == (200, '{"status":"healthy"}\n')
    before = values(alone.get("/metrics")[1])
    assert before['warpgym_device_good{device="cpu"}'] == 1
    assert not any(name.startswith("warpgym_sandbox_layer") for name in before)
    server = serving.Server(warpgym, queue=alone.queue)
    source = (support.ROOT / "problems/native/relu/tests/fast.c").read_text(encoding="utf-8")
    body = {"problem": {"id": "relu"}, "candidate": {"source": source}}
    answer = server.post("/v1/evaluations?wait_s=60", body).json
    assert answer["outcome"] == "passed", answer
    held = answer["verdict"]["environment"]["sandbox"]

    def counted():  # after the store, whose answer we have, is updated; the layers come last
        found = alone.get("/metrics")[1].count("\nwarpgym_sandbox_layer{")
        return found == len(held["layers"]) + len(held["missing"])

    support.wait_until(counted, "the job is counted")
    after = values(alone.get("/metrics")[1])
    assert after['warpgym_worker_jobs_total{status="passed"}'] == 1
    assert after['warpgym_worker_stage_seconds_count{stage="compile"}'] == 1
    assert after['warpgym_standby_ready{kind="native"}'] == 1
    busy, exclusive = (
        after[f'warpgym_device_{what}_seconds{{device="cpu"}}'] for what in ("busy", "exclusive")
    )
    stages = answer["verdict"]["stages_ms"]
    assert busy >= exclusive > 0
    assert 1e-3 * stages["time"] <= exclusive and busy <= 1e-3 * sum(stages.values())
    for kind, value in (("layers", 1), ("missing", 0)):
        for layer in held[kind]:
            assert after[f'warpgym_sandbox_layer{{layer="{layer}"}}'] == value
    (device,) = server.get("/v1/workers").json["workers"][0]["devices"]
    assert device["kind"] == "cpu" and device["busy_s"] >= 0
    assert server.stop() == 0
    for path in ("/", "/v1/evaluations", "/evaluate"):
        assert alone.get(path)[0] == 404


def test_metrics_need_the_token(warpgym):
    warpgym.environment |= {"WARPGYM_PYTHON_PATH": "/bin/false", "WARPGYM_TOKEN": "secret-of-ours"}
    worker = Alone(warpgym)
    assert worker.get("/metrics")[0] == 401 and worker.get("/health")[0] == 200
    assert worker.get("/metrics", "secret-of-ours")[0] == 200
    assert worker.stop() == 0


@pytest.mark.parametrize(
    ("listen", "says"),
    [
        ("nonsense", "worker.listen: "),
        ("0.0.0.0:0", "set a token"),
        ("127.0.0.1:99999", "worker.listen: "),
    ],
)
def test_bad_addresses(warpgym, listen, says):
    warpgym.environment["WARPGYM_PYTHON_PATH"] = "/bin/false"
    queue = f"sqlite:{warpgym.folder / 'queue.db'}"
    run = warpgym("worker", "--queue", queue, "--listen", listen)
    assert run.status in (support.USAGE, support.INFRASTRUCTURE) and says in run.err, run
    assert len(re.findall("^warpgym: ", run.err, re.MULTILINE)) == 1
    text = f"worker: {json.dumps({'listen': listen})}\n"
    config = support.write(warpgym.folder / "config.yaml", text)
    run = warpgym("config", "check", config)
    assert run.status == support.USAGE and "worker.listen" in run.err, run
