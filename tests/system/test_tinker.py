"""A backend of kind tinker against a server of the protocol that really trains (fake_tinker.py)."""

import base64
import copy
import http.server
import json
import os
import re
import subprocess
import threading
import time

import fake_tinker
import pytest
from fake_tinker import BASE, KEY, FakeTinker, Fault, Probe
from support import wait_until

TOKENS = 10
RANK = 4
# Tests do not wait as long as a run would.
QUICK = ("policy.backoff_ms=10ms", "policy.retry_budget_ms=2s", "policy.timeout_ms=5s")
SAMPLE, POLL, PASS = "/api/v1/asample", "/api/v1/retrieve_future", "/api/v1/forward_backward"
STEP, SAVE, CREATE = "/api/v1/optim_step", "/api/v1/save_weights", "/api/v1/create_model"
HEART = "/api/v1/session_heartbeat"
FREEZE, FORWARD = "/api/v1/save_weights_for_sampler", "/api/v1/forward"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    directory = tmp_path_factory.mktemp("model")
    subprocess.run([fake_tinker.PROBE, "fresh", directory], check=True)
    return directory


@pytest.fixture(scope="module", autouse=True)
def quiet(model, tmp_path_factory):
    """A client that asks for nothing, for as long as these tests take."""
    with FakeTinker(model, tmp_path_factory.mktemp("quiet")) as server, client(server, model):
        yield server


@pytest.fixture(scope="module", autouse=True)
def interrupted(model, tmp_path_factory):
    """A client that was interrupted, and has not gone, for as long as these tests take."""
    folder = tmp_path_factory.mktemp("interrupted")
    with FakeTinker(model, folder) as server, client(server, model) as backend:
        interrupt_while_it_saves(server, backend)
        yield server, backend


def environment(key=KEY):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TINKER_")}
    return kept | ({"TINKER_API_KEY": key} if key else {})


def client(server, model, *options, key=KEY):
    options = (f"tokenizer={model}", f"url={server.url}", f"rank={RANK}", *QUICK, *options)
    return Probe("tinker", BASE, *options, environment=environment(key))


def engine(model):
    return Probe("engine", model, f"rank={RANK}", f"alpha={fake_tinker.ALPHA}", "backend=cpu")


def prompt_of(backend, text="the question"):
    return backend.must("prompt", messages=[{"role": "user", "content": text}])["ids"]


def samples_of(backend, seeds, prompt=None):
    ids = prompt or prompt_of(backend)
    prompts = [{"ids": ids, "max_tokens": TOKENS, "seed": seed} for seed in seeds]
    return backend.must("sample", prompts=prompts)["answers"]


def datum_of(prompt, answer, advantage):
    """A row for each token but the last; those of the prompt have no advantage."""
    before, tokens = len(prompt) - 1, prompt + answer["tokens"]
    return {
        "tokens": tokens[:-1],
        "targets": tokens[1:],
        "sampled": [None] * before + answer["logprobs"],
        "advantages": [0.0] * before + [advantage] * len(answer["tokens"]),
    }


def reward(answer):
    return sum(token % 2 for token in answer["tokens"]) / len(answer["tokens"])


def run(backend, steps=4, group=6, clip=1.0):
    """Reinforcement learning in small: all that there is to measure of each step."""
    metrics, prompt = [], prompt_of(backend)
    for step in range(steps):
        answers = samples_of(backend, [100 * step + i for i in range(group)], prompt)
        rewards = [reward(answer) for answer in answers]
        mean = sum(rewards) / group
        datums = [datum_of(prompt, a, r - mean) for a, r in zip(answers, rewards, strict=True)]
        options = {"loss": "ppo", "config": {"clip_low": 0.8, "clip_high": 1.3}}
        before = backend.must("pass", datums=datums, gradients=False, **options)
        sums = backend.must("pass", datums=datums, gradients=True, **options)
        assert before["loss"] == sums["loss"]
        norm = backend.must("step", rate=0.02, epsilon=1e-8, clip=clip)["norm"]
        version = backend.must("refresh")["version"]
        assert version == step + 1
        row = {key: sums[key] for key in ("loss", "tokens", "clipped", "ratio", "kl")}
        tokens = [answer["tokens"] for answer in answers]
        metrics.append(row | {"norm": norm, "reward": mean, "answers": tokens})
    return metrics


def assert_close(one, two):
    assert [row.pop("answers") for row in one] == [row.pop("answers") for row in two]
    for step, (a, b) in enumerate(zip(one, two, strict=True)):
        assert a.keys() == b.keys()
        for name in a:
            assert a[name] == pytest.approx(b[name], rel=1e-5, abs=1e-5), (step, name)


# --- what it is for ------------------------------------------------------------------------------


@pytest.mark.parametrize("skyrl", [False, True])
def test_the_same_run_as_in_process(model, tmp_path, skyrl):
    """Also on SkyRL's server, which divides a loss otherwise, and clips no gradient."""
    with engine(model) as backend:
        expected = run(backend, clip=0.0 if skyrl else 1.0)
    assert max(row["norm"] for row in expected) > 1, "nothing would be clipped"
    assert len({row["reward"] for row in expected}) > 1
    # Two datums a chunk: three chunks of each pass.
    config = {"fwdbwd_max_chunk_len": 2}
    with (
        FakeTinker(model, tmp_path, skyrl, config, key=KEY) as server,
        client(server, model) as backend,
    ):
        found = run(backend)
        backend.close()
        assert server.count(PASS) == 3 * 4
        assert server.models == {}, "the model was not unloaded"
    assert_close(found, expected)


def test_protocol(model, tmp_path):
    """Numbers of requests, and what they hold."""
    with FakeTinker(model, tmp_path) as server, client(server, model) as backend:
        run(backend, steps=1)
        bodies = dict(server.calls)
        numbers = [body["seq_id"] for path, body in server.calls if "model_id" in body]
        assert numbers == list(range(1, len(numbers) + 1))
        asked = [body["seq_id"] for path, body in server.calls if path == SAMPLE]
        assert sorted(asked) == list(range(6))
        assert bodies[CREATE]["lora_config"]["rank"] == RANK
        assert bodies[CREATE]["base_model"] == BASE
        assert bodies[SAMPLE]["sampling_params"]["stop"], "nothing would end an answer"
        assert bodies[SAMPLE]["sampling_params"]["top_k"] == -1
        assert bodies[STEP]["adam_params"]["beta2"] == 0.95
        given = bodies[PASS]["forward_backward_input"]
        assert given["loss_fn_config"] == {"clip_low_threshold": 0.8, "clip_high_threshold": 1.3}
        assert all(None not in (body or {}).values() for _, body in server.calls)
        assert server.sessions["session-1"]["tags"] == ["warpgym"]


@pytest.mark.parametrize("skyrl", [False, True])
def test_checkpoints(model, tmp_path, skyrl):
    with FakeTinker(model, tmp_path, skyrl) as server:
        with client(server, model) as backend:
            run(backend, steps=2)
            here = {"directory": "/nowhere"}
            where = backend.must("save", name="step.2", **here)["where"]
            assert where.startswith("tinker://") and where.endswith("/weights/step-2")
            other = backend.must("save", name="step.2", **here)["where"]
            assert other.endswith("/weights/step-2-1"), "a name that is taken"
            expected = run(backend_at(backend, 2), steps=1)
        with client(server, model) as backend:
            backend.must("load", where=where, optimizer=True, **here)
            assert sum(path == CREATE for path, _ in server.calls) == 2
            backend.must("refresh")
            assert_close(run(backend_at(backend, 0), steps=1), expected)
            backend.must("load", where=other, optimizer=False, **here)
            backend.must("forget", where=where, **here)
            backend.must("forget", where=where, **here)
            refusal = backend.ask("load", where=where, optimizer=True, **here)
            assert "there is no such checkpoint (404)" in refusal["error"]
            refusal = backend.ask("export", directory=str(tmp_path / "x"))
            assert refusal["code"] == "unsupported"


INFO = "/api/v1/weights_info"


def test_a_checkpoint_of_another_rank(model, tmp_path):
    """Its rank is that of the model that it goes on as."""
    with FakeTinker(model, tmp_path) as server:
        with client(server, model) as backend:
            where = backend.must("save", directory="", name="one")["where"]
        with client(server, model, f"rank={2 * RANK}") as backend:
            backend.must("load", directory="", where=where, optimizer=True)
            ranks = [body["lora_config"]["rank"] for path, body in server.calls if path == CREATE]
            assert ranks == [RANK, RANK]
            assert "error" not in train(backend)


def test_a_checkpoint_of_another_model(model, tmp_path):
    """What is there stays as it is."""
    with FakeTinker(model, tmp_path) as server, client(server, model) as backend:
        where = backend.must("save", directory="", name="one")["where"]
        server.faults = [Fault(INFO, "junk", body='{"base_model": "base/other"}')]
        answer = backend.ask("load", directory="", where=where, optimizer=True)
        assert answer["error"] == f"{where} belongs to the model 'base/other', not to '{BASE}'"
        assert "error" not in train(backend) and server.made == 1


class backend_at:
    """A backend whose versions begin at `version`, for run()."""

    def __init__(self, backend, version):
        self.backend, self.version = backend, version
        self.ask = backend.ask

    def must(self, do, **values):
        answer = self.backend.must(do, **values)
        if "version" in answer:
            answer["version"] -= self.version
        return answer


# --- a server that misbehaves, and nothing is lost ------------------------------------------------

MENDED = {
    "busy": [Fault(SAMPLE, "status", 429, headers=[("Retry-After", "0")], times=3)],
    "broken": [Fault(path, "status", 500, times=2) for path in (SAMPLE, PASS, STEP, POLL)],
    "away for a moment": [Fault(path, "drop") for path in (SAMPLE, PASS, STEP, POLL)],
    "answers that got lost": [
        Fault(path, "drop", after=True) for path in (CREATE, SAMPLE, PASS, STEP, POLL)
    ],
    "not yet": [Fault(POLL, "again", times=5), Fault(POLL, "status", 408, times=5)],
    "a wrong 400 between": [Fault(POLL, "status", 400, '{"detail": "what?"}', times=3)],
    "an empty 400": [Fault(SAMPLE, "status", 400, "", times=3), Fault(STEP, "status", 400, "")],
    "a broken body": [Fault(path, "junk", body='{"request') for path in (SAMPLE, PASS, POLL)],
    "a sample that was lost": [Fault(POLL, "status", 410)],
}


@pytest.fixture(scope="module")
def undisturbed(model):
    with engine(model) as backend:
        return run(backend, steps=2)


@pytest.mark.parametrize("name", MENDED)
def test_mended(model, tmp_path, undisturbed, name):
    with FakeTinker(model, tmp_path) as server, client(server, model) as backend:
        if name == "a sample that was lost":
            samples_of(backend, [1])  # the model and its sampler are there
        server.faults = [copy.copy(fault) for fault in MENDED[name]]
        found = run(backend, steps=2)
        assert all(fault.times == 0 for fault in server.faults), "a fault that never occurred"
    assert_close(found, [dict(row) for row in undisturbed])


def sample(backend):
    return backend.ask("sample", prompts=[{"ids": [1, 2, 3], "max_tokens": 4}])["answers"][0]


def train(backend):
    datum = {"tokens": [1, 2, 3], "targets": [2, 3, 4], "weights": [1, 1, 1]}
    return backend.ask("pass", datums=[datum], loss="cross_entropy", gradients=True)


def save(backend):
    return backend.ask("save", directory="", name="one")


def refresh(backend):
    return backend.ask("refresh")


MANY = 10**6
REFUSED = {
    "400": (sample, Fault(SAMPLE, "status", 400, '{"detail": "bad seed"}'), "bad seed (400)"),
    "a failed future": (
        sample,
        Fault(POLL, "junk", body='{"error": "no room", "category": "server"}'),
        "/api/v1/asample: no room",
    ),
    "401": (
        sample,
        Fault(SAMPLE, "status", 401, json.dumps({"detail": f"{KEY} is no key"})),
        "[token] is no key: the key was refused or has expired; set TINKER_API_KEY or policy.token "
        "(401)",
    ),
    "403 without words": (sample, Fault(SAMPLE, "status", 403), "set TINKER_API_KEY or"),
    "402": (sample, Fault(SAMPLE, "status", 402, '{"detail": "pay"}', times=MANY), "pay (402)"),
    "404": (train, Fault(PASS, "status", 404), "or has no /api/v1/forward_backward; resume"),
    "404 in a few words": (
        train,
        Fault(PASS, "status", 404, '{"detail": "Not Found"}'),
        ": Not Found (404): the server lost the state of this run",
    ),
    "422": (
        train, Fault(PASS, "status", 422, '{"detail": [{"msg": "no dro"}]}', times=2),
        "no dro (422)",
    ),
    "429": (sample, Fault(SAMPLE, "status", 429, '{"detail": "busy"}', times=MANY), "(429) ("),
    "500": (train, Fault(STEP, "status", 500, '{"detail": "oh"}', times=MANY), None),
    "502": (train, Fault(POLL, "status", 502, "<html>", times=MANY), "answers (502) ("),
    "hangs": (sample, Fault(SAMPLE, "hang", times=MANY), "no whole answer in 1 s"),
    "drops": (train, Fault(PASS, "drop", times=MANY), " attempts)"),
   "400 for ever": (train, Fault(POLL, "status", 400, '{"detail": "no"}', times=MANY), "(4 att"),
    "a lost pass": (train, Fault(POLL, "status", 410), "has lost the result of /api"),
    "lost samples": (sample, Fault(POLL, "status", 410, times=MANY), "it has lost the result of"),
    "junk": (sample, Fault(POLL, "junk", body="[]"), "has no 'sequences'"),
    "protobuf": (
        sample,
        Fault(POLL, "junk", body="\n\x06\x08\x01\x12\x02", times=MANY),
        "; is it a server of the Tinker protocol? (4 attempts)",
    ),
    "a copy that has no name": (
        refresh,
        Fault(POLL, "junk", body='{"path": null}', of="save_weights_for_sampler"),
        "the server's answer to save_weights_for_sampler names no sampler",
    ),
    "a checkpoint that has no name": (
        save,
        Fault(POLL, "junk", body='{"path": null}', of="save_weights"),
        "the server's answer to save_weights has no 'path'",
    ),
    "a checkpoint of a strange name": (
        save,
        Fault(POLL, "junk", body='{"path": "/tmp/x"}', of="save_weights"),
        "the server saved a checkpoint as '/tmp/x', which is not a checkpoint path",
    ),
    "no future": (sample, Fault(SAMPLE, "junk", body="{}"), "has no 'request_id'"),
    "too many tokens": (
        sample,
        Fault(POLL, "junk", body='{"sequences": [{"tokens": [1, 2, 3, 4, 5]}]}'),
        "has 5 tokens; 1 to 4 were asked for",
    ),
    "no log-probabilities": (
        sample,
        Fault(POLL, "junk", body='{"sequences": [{"tokens": [1]}]}'),
        "'logprobs' of a sample has 0 numbers, not 1",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(model, tmp_path, name):
    do, fault, says = REFUSED[name]
    config = {"billing_exception_max_pause_duration_sec": 0}
    quick = ("policy.timeout_ms=1s", "policy.retry_budget_ms=200ms")
    with (
        FakeTinker(model, tmp_path, config=config) as server,
        client(server, model, *quick) as backend,
    ):
        where = backend.must("save", directory="", name="before")["where"]
        samples_of(backend, [1])
        server.faults = [copy.copy(fault)]
        answer = do(backend)
        if name == "500":
            assert "error" not in answer
            answer = backend.ask("step", rate=0.1)
            says = "oh (500) ("
        assert says in answer["error"], answer
        assert "\n" not in answer["error"] and KEY not in answer["error"]
        server.faults = []
        # Sampling continues; training resumes from the last checkpoint, as the state is unknown.
        if do is train:
            assert "resume from a checkpoint" in train(backend)["error"]
            backend.must("load", directory="", where=where, optimizer=True)
        assert "error" not in train(backend)
        backend.must("step", rate=0.1)
        backend.must("refresh")
        assert "error" not in sample(backend)
        assert KEY not in backend.close()


def forward(backend):
    datum = {"tokens": [1, 2, 3], "targets": [2, 3, 4], "weights": [1, 1, 1]}
    return backend.ask("pass", datums=[datum], loss="cross_entropy", gradients=False)


# What happens to a request, and to the same one when it is sent again before the next.
OPEN = {
    "never seen": ([("drop", 0, False)], []),
    "done": ([("drop", 0, True)], []),
    "refused after all": ([("drop", 0, False), ("status", 400, False)], []),
    "refused later": ([("drop", 0, False)], [("status", 400, False)]),
    "busy later": ([("drop", 0, True)], [("status", 429, False), ("status", 429, False)]),
    "done, and then a proxy's word": ([("drop", 0, True), ("status", 400, False, "")], []),
    "done, and then no key": ([("drop", 0, True), ("status", 401, False)], []),
    "done, and then no money": ([("drop", 0, True), ("status", 402, False)], []),
    "done, and then no right": ([("drop", 0, True), ("status", 403, False)], []),
}


@pytest.mark.parametrize("skyrl", [False, True])
def test_no_number_is_left_out(model, tmp_path, skyrl):
    """A request without an answer costs no number, and none is used twice: the server would say."""

    def faults(path, kinds, last):
        times = [1] * len(kinds)
        if kinds and last:
            times[-1] = MANY
        return [
            Fault(path, kind, status, *body, times=n, after=after)
            for (kind, status, after, *body), n in zip(kinds, times, strict=True)
        ]

    config = {"billing_exception_max_pause_duration_sec": 0}
    with (
        FakeTinker(model, tmp_path, skyrl, config) as server,
        # Several passes follow without a step.
        client(server, model, "policy.retry_budget_ms=50ms", "reduction=sum") as backend,
    ):
        sample(backend)
        for path, do in ((SAVE, save), (FREEZE, refresh), (FORWARD, forward)):
            for name, (first, again) in OPEN.items():
                server.faults = faults(path, first, last=True)
                assert "error" in do(backend), (path, name)
                server.faults = faults(path, again, last=False)
                assert "error" not in train(backend), (path, name)
                assert all(fault.times == 0 for fault in server.faults), (path, name)
        assert "error" not in backend.ask("step", rate=0.1)
        assert "error" not in save(backend)


def test_a_server_that_goes_with_a_request(model, tmp_path):
    """The request was executed; an automatic retry (as libcurl makes) finds no server."""
    with (
        FakeTinker(model, tmp_path) as server,
        client(server, model, "policy.retry_budget_ms=50ms") as backend,
    ):
        sample(backend)
        for path, do in ((SAVE, save), (FREEZE, refresh), (FORWARD, forward)):
            server.faults = [Fault(path, "call", call=server.leave)]
            assert "error" in do(backend), path
            server.come_back()
            assert "error" not in train(backend), path


def test_a_future_that_times_out(model, tmp_path):
    with (
        FakeTinker(model, tmp_path) as server,
        client(server, model, "policy.future_timeout_ms=300ms") as backend,
    ):
        server.faults = [Fault(POLL, "again", times=MANY, of="asample")]
        says = "no result of /api/v1/asample within 0.3 s (policy.future_timeout_ms)"
        assert says in sample(backend)["error"]


OLD_KEY = "eyJhbGciOiJub25lIn0." + base64.urlsafe_b64encode(b'{"exp": 1600000000}').decode() + ".x"

NOT_OPENED = {
    "no server": ({"url": "http://127.0.0.1:1"}, "Couldn't connect|Failed to connect"),
    "no address": ({"url": "tinker"}, "'tinker' is not a server's address"),
    "all parameters": ({"rank": 0}, "a Tinker server trains adapters"),
    "a model that is not there": ({"model": "base/tyni"}, "did you mean 'base/tiny'"),
    "too long a context": (
        {"context": 65}, "a context of 65 tokens is too long; 'base/tiny' has 64 on this server",
    ),
    "no context that is known": (
        {"reported_context": None}, "does not report the context of 'base/tiny': set one",
    ),
    "a wrong key": ({"key": "tml-other-key"}, r"\[token\] is no key: the key was .* \(401\)"),
    "no key": ({"key": None}, r"None is no key: the key was refused.* \(401\)"),
    "a key that has expired": ({"key": OLD_KEY}, "the key in TINKER_API_KEY .* expired at 2020-"),
    "a key that is not exchanged": (
        {"config": {"pjwt_auth_enabled": True}, "key": "tml-other-key"},
        r"\[token\] is no key: the key was refused or has expired.* \(401\)",
    ),
}


@pytest.mark.parametrize("name", NOT_OPENED)
def test_not_opened(model, tmp_path, name):
    changes, says = NOT_OPENED[name]
    with FakeTinker(model, tmp_path, config=changes.get("config"), key=KEY) as server:
        server.context = changes.get("reported_context", server.context)
        options = [f"tokenizer={model}", f"url={changes.get('url', server.url)}", *QUICK]
        options += [f"rank={changes.get('rank', RANK)}", f"context={changes.get('context', 0)}"]
        variables = environment(changes.get("key", KEY))
        probe = Probe("tinker", changes.get("model", BASE), *options, environment=variables)
        probe.close()
        assert re.search(says, probe.first["error"]), probe.first


@pytest.mark.parametrize("answers", ["404", "a page"])
def test_a_server_of_another_protocol(model, answers):
    """A newer or older one, or none of Tinker's: the address is right, its routes are not."""

    class Other(http.server.BaseHTTPRequestHandler):
        def answer(self):
            self.send_response(200 if answers == "a page" else 404)
            self.end_headers()
            self.wfile.write(b"<html>hello</html>" if answers == "a page" else b'{"detail":"?"}')

        do_GET = do_POST = answer  # noqa: N815

        def log_message(self, *words):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Other) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        options = [f"tokenizer={model}", f"url={url}", f"rank={RANK}", *QUICK]
        probe = Probe("tinker", BASE, *options, environment=environment(KEY))
        probe.close()
        server.shutdown()
    assert url in probe.first["error"] and "Tinker" in probe.first["error"], probe.first


def test_losses_that_tinker_lacks(model, tmp_path):
    cases = [
        ({"loss": "ppo", "config": {"dual_clip": 3}}, "a dual clip needs the engine"),
        ({"loss": "ppo", "config": {"entropy": 0.1}}, "an entropy bonus needs the engine"),
        ({"loss": "dro"}, "datum 0: row 0: a number is not finite, or a log-probability"),
    ]
    datum = {"tokens": [1, 2], "targets": [2, 3], "sampled": [None, -1], "advantages": [0, 1]}
    with FakeTinker(model, tmp_path) as server, client(server, model) as backend:
        for options, says in cases:
            answer = backend.ask("pass", datums=[datum], gradients=True, **options)
            assert says in answer["error"], answer
        assert server.count(PASS) == 0
        # Nothing was sent, so nothing is lost.
        backend.must("pass", datums=[datum], gradients=True, loss="ppo")


def test_chunks_that_fit(model, tmp_path):
    """A server may want larger ones than a request can hold."""
    rows, most = 1000, 2**30 - 1
    datum = {
        "tokens": rows * [300], "targets": rows * [300],
        "sampled": rows * [-1.23456789e-05], "advantages": rows * [-1.23456789e-05],
    }  # fmt: skip
    config = {"fwdbwd_max_chunk_len": 10**6, "fwdbwd_max_chunk_bytes_count": most}
    # Of the two encodings JSON is the larger one.
    with (
        FakeTinker(model, tmp_path, config=config, passes="json") as server,
        client(server, model) as backend,
    ):
        server.faults = [Fault(FORWARD, "status", 422, '{"detail": "so large"}')]
        options = {"loss": "ppo", "gradients": False, "copies": 1700}
        assert "so large (422)" in backend.ask("pass", datums=[datum], **options)["error"]


def test_cancelled(model, tmp_path):
    """A client that waits for a silent server ends at once."""
    with FakeTinker(model, tmp_path) as server, client(server, model) as backend:
        samples_of(backend, [1])
        server.faults = [Fault(SAMPLE, "hang", times=MANY)]
        asked = server.count(SAMPLE)
        line = {"do": "sample", "prompts": [{"ids": [1], "max_tokens": 4}]}
        backend.process.stdin.write(json.dumps(line).encode() + b"\n")
        backend.process.stdin.flush()
        wait_until(lambda: server.count(SAMPLE) > asked, "the request")
        backend.process.terminate()
        begun = time.monotonic()
        answer = json.loads(backend.process.stdout.readline())
        assert answer["answers"][0]["code"] == "cancelled"
        assert time.monotonic() - begun < 4, "as long as a request may take"
        backend.close()
        assert server.models == {}, "the model was not unloaded"


def interrupt_while_it_saves(server, backend):
    """SIGTERM while the future of a checkpoint is polled; what came of it."""
    server.faults = [Fault(POLL, "hang", of="save_weights")]
    line = {"do": "save", "directory": "", "name": "one"}
    backend.process.stdin.write(json.dumps(line).encode() + b"\n")
    backend.process.stdin.flush()
    wait_until(lambda: server.faults[0].times == 0, "the poll")
    backend.process.terminate()
    answer = json.loads(backend.process.stdout.readline())
    server.faults = []
    return answer


def test_a_save_that_is_interrupted(model, tmp_path):
    """It is made again, in full and under a name of its own."""
    with FakeTinker(model, tmp_path) as server:
        with client(server, model) as backend:
            train(backend)
            answer = interrupt_while_it_saves(server, backend)
            assert answer.get("where", "").endswith("/weights/one-1"), answer
        with client(server, model) as backend:
            backend.must("load", directory="", where=answer["where"], optimizer=True)


def test_cancelled_while_the_model_is_made(model, tmp_path):
    """It is unloaded, though no request waited for it."""
    with FakeTinker(model, tmp_path) as server, client(server, model) as backend:
        server.faults = [Fault(POLL, "hang", of="create_model")]
        backend.process.stdin.write(json.dumps({"do": "refresh"}).encode() + b"\n")
        backend.process.stdin.flush()
        wait_until(lambda: server.faults[0].times == 0, "the poll")
        assert len(server.models) == 1
        backend.process.terminate()
        assert json.loads(backend.process.stdout.readline())["code"] == "cancelled"
        backend.close()
        assert server.models == {}, "the model was not unloaded"


def test_a_model_that_takes_its_time(model, tmp_path):
    """A repeated request waits for the same model."""
    with (
        FakeTinker(model, tmp_path) as server,
        client(server, model, "policy.future_timeout_ms=300ms") as backend,
    ):
        server.faults = [Fault(POLL, "again", times=MANY, of="create_model")]
        assert "no result of /api/v1/create_model" in sample(backend)["error"]
        server.faults = []
        assert "error" not in sample(backend) and server.made == 1


def test_samples_beside_a_pass(model, tmp_path):
    """The first sample is answered when the pass is under way, and that when there is another."""
    with FakeTinker(model, tmp_path) as server, client(server, model) as backend:
        prompt = prompt_of(backend)
        (answer,) = samples_of(backend, [1], prompt)
        datums = [datum_of(prompt, answer, 1.0)]
        asked = server.count(SAMPLE)

        def both_asked():
            return server.count(SAMPLE) >= asked + 2

        server.faults = [
            Fault(SAMPLE, "call", call=lambda: wait_until(lambda: server.count(PASS), "a pass")),
            Fault(PASS, "call", call=lambda: wait_until(both_asked, "the other sample")),
        ]
        wanted = [{"ids": prompt, "max_tokens": 4, "seed": seed} for seed in (2, 3)]
        took = backend.must("pass", datums=datums, gradients=True, loss="ppo", meanwhile=wanted)
        assert [len(answer["tokens"]) > 0 for answer in took["answers"]] == [True, True]
        assert server.count(PASS) == 1, "it was asked again, for it took too long"


def test_heartbeat_after_an_interruption(interrupted):
    """Saved state then needs the session, and closing does not wait for an unanswered request."""
    server, backend = interrupted
    server.faults, before = [Fault(HEART, "hang", times=MANY)], server.count(HEART)
    wait_until(lambda: server.count(HEART) > before, "a heartbeat", seconds=20)
    begun = time.monotonic()
    backend.close()
    assert time.monotonic() - begun < 2.5, "as long as a heartbeat may take"


def test_heartbeat(quiet):
    """One every ten seconds; without requests there is nothing else."""
    wait_until(lambda: quiet.count(HEART) > 0, "a heartbeat", seconds=20)
    assert {"session_id": "session-1", "type": "session_heartbeat"} in dict(quiet.calls).values()
