"""`warpgym train` through a Tinker server: the same numbers as in this process, whatever the server
does and whenever we die. The server is a stand-in that really trains (fake_tinker.py)."""

import json
import os
import random
import re
import shutil
import signal
import threading

import fake_tinker
import pytest
import support
import tiny_world
from fake_tinker import KEY, FakeTinker, Fault
from tiny_world import arguments, events, metrics, traces

KILLS = int(os.environ.get("TINKER_KILLS", "4"))
MANY = 10**6
EVERYTHING = "train.problems=plus minus twice half"
SAMPLE, POLL, STEP = "/api/v1/asample", "/api/v1/retrieve_future", "/api/v1/optim_step"
CREATE = "/api/v1/create_model"
PASS, FORWARD = "/api/v1/forward_backward", "/api/v1/forward"
SAVE, FREEZE = "/api/v1/save_weights", "/api/v1/save_weights_for_sampler"

# Several of everything that a service is asked for in a step.
RUN = (
    EVERYTHING, "train.held_out=half", "train.steps=6", "train.prompts=2", "train.samples=3",
    "train.lora_rank=4", "train.context=160", "train.rate=0.01", "train.substeps=2",
    "train.loss=ppo", "train.evaluate_every=4", "train.save_every=1", "train.keep=2",
    "gym.reward=staged1",
)  # fmt: skip


@pytest.fixture(scope="module")
def world(module_warpgym, tmp_path_factory):
    return tiny_world.make(module_warpgym, tmp_path_factory.mktemp("world"))


@pytest.fixture
def service(world, tmp_path):
    model = world.parent / "base" / "model"
    with FakeTinker(model, tmp_path / "service", key=KEY) as server:
        yield server


def through(server, world):
    """Settings of a run that the server trains."""
    return (
        "train.backend=tinker", f"train.model={fake_tinker.BASE}",
        f"train.tokenizer={world.parent / 'base' / 'model'}", f"train.url={server.url}",
    )  # fmt: skip


def train(warpgym, server, world, out, *pairs):
    command = arguments(world, out, *RUN, *through(server, world), *pairs)
    return warpgym.start(*command, environment={"TINKER_API_KEY": KEY})


@pytest.fixture(scope="module")
def undisturbed(module_warpgym, world, tmp_path_factory):
    """The directory of a run that nothing happens to, and how often it asked."""
    folder = tmp_path_factory.mktemp("undisturbed")
    with FakeTinker(world.parent / "base" / "model", folder / "service", key=KEY) as server:
        module_warpgym.finish(
            train(module_warpgym, server, world, folder / "run"), expect=support.PASSED
        )
        return folder / "run", len(server.calls)


def assert_same(one, two):
    assert metrics(one) == metrics(two)
    assert traces(one) == traces(two)
    states = [
        [
            (line["name"], line["step"], tiny_world.state(line))
            for line in lines
            if "removed" not in line
        ]
        for lines in (support.read_lines(out / "checkpoints.jsonl") for out in (one, two))
    ]
    assert states[0] == states[1]


# --- the same as in this process -----------------------------------------------------------------

ALIKE = {
    "fine-tuning, then importance sampling": (
        "train.held_out=half", "train.evaluate_every=2", "train.sft_data={folder}/sft.jsonl",
        "train.sft_epochs=1", "train.sft_tokens=1024",
    ),
    "ppo, two changes a step, turns, rounds, a band, a penalty": (
        "train.method=drkernel", "train.loss=ppo", "train.substeps=2", "gym.turns=2",
        "train.rounds=2", "train.void_turns=mask", "train.kl=0.01", "train.temperature=1.2",
        "gym.reward=staged1",
    ),
    "SkyRL: cispo, a band of tokens, weights of tokens, masks": (
        "train.method=grpo", "train.loss=cispo", "train.bounds_level=token", "train.ratio=trained",
        "train.importance=token", "gym.turns=2", "train.failed_turns=mask",
        "train.schedule=linear", "train.clip_high=1.2", "train.clip=0",
    ),
    "SkyRL: fine-tuning, then ppo, two changes a step, a penalty": (
        "train.sft_data={folder}/sft.jsonl", "train.sft_epochs=1", "train.sft_tokens=1024",
        "train.loss=ppo", "train.substeps=2", "train.kl=0.01", "train.clip=0",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ALIKE)
def test_engine_and_tinker(warpgym, world, service, tmp_path, name):
    """All metrics and all answers, within rounding."""
    service.skyrl = name.startswith("SkyRL")
    more = (
        EVERYTHING, "train.steps=3", "train.prompts=2", "train.samples=4", "train.lora_rank=4",
        f"train.lora_alpha={fake_tinker.ALPHA}", "train.context=160", "train.rate=0.01",
        *(pair.format(folder=world.parent) for pair in ALIKE[name]),
    )  # fmt: skip
    environment = {"TINKER_API_KEY": KEY}
    engine, tinker = tmp_path / "engine", tmp_path / "tinker"
    for out, backend in ((engine, ()), (tinker, through(service, world))):
        command = arguments(world, out, *more, *backend)
        warpgym.ok(*command, environment=environment)
    one, two = metrics(engine), metrics(tinker)
    assert len(one) == len(two) >= 3
    for a, b in zip(one, two, strict=True):
        assert a.keys() == b.keys()
        for metric in a:
            assert a[metric] == pytest.approx(b[metric], rel=1e-4, abs=1e-5), (a["step"], metric)
    for a, b in zip(traces(engine), traces(tinker), strict=True):
        assert a["advantage"] == pytest.approx(b["advantage"], rel=1e-4, abs=1e-5)
        assert a | {"advantage": 0} == b | {"advantage": 0}
    assert any(line["optim/grad_norm"] > 0 for line in one if "optim/grad_norm" in line)
    assert (engine / "adapter").exists() and not (tinker / "adapter").exists()


def test_what_a_service_does_not_do(warpgym, world, service, tmp_path):
    """It is said before the first step, once, and the run begins all the same."""
    service.skyrl = True
    full = ("train.lora_rank=0", "train.dual_clip=3", "train.steps=1", "train.evaluate_every=0")
    process = train(warpgym, service, world, tmp_path / "run", *full)
    run = warpgym.finish(process, expect=support.PASSED)
    notes = [
        line["text"]
        for line in support.read_lines(tmp_path / "run" / "train.log")
        if line["event"] == "note"
    ]
    assert [note.split(":")[0] for note in notes] == [
        "train.lora_rank", "train.dual_clip", "train.clip",
    ]  # fmt: skip
    assert all(note in run.err for note in notes)
    ranks = [body["lora_config"]["rank"] for path, body in service.calls if path == CREATE]
    assert ranks == [32]


def test_the_tokenizer_of_a_model_that_is_a_directory(warpgym, world, service, tmp_path):
    """One setting and an address move an engine's run to a service."""
    here = str(world.parent / "base" / "model")
    service.name = here
    pairs = (f"train.model={here}", "train.tokenizer=auto", "train.steps=1")
    warpgym.finish(train(warpgym, service, world, tmp_path / "run", *pairs), expect=support.PASSED)


def test_a_resume_waits_for_a_server_that_comes_up(warpgym, world, service, tmp_path):
    """Its address has worked: it is not taken for a mistake after three seconds."""
    out = tmp_path / "run"
    warpgym.finish(train(warpgym, service, world, out, "train.steps=1"), expect=support.PASSED)
    service.leave()
    threading.Timer(5, service.come_back).start()
    warpgym.finish(train(warpgym, service, world, out, "train.steps=2"), expect=support.PASSED)


def test_a_loss_that_a_service_lacks(warpgym, world, service, tmp_path):
    run = warpgym.finish(train(warpgym, service, world, tmp_path / "run", "train.loss=dro"))
    assert run.status == support.USAGE and "train.loss: only the engine has dro" in run.complaint
    assert service.calls == []


# --- a server that misbehaves --------------------------------------------------------------------


def test_faults_that_a_run_survives(warpgym, world, service, undisturbed, tmp_path):
    """Each of these is waited out, and nothing of it is in the numbers."""

    def leave():
        service.leave()
        threading.Timer(0.5, service.come_back).start()

    busy = [("Retry-After", "0")]
    asked = (SAMPLE, PASS, FORWARD, STEP, FREEZE, SAVE, POLL)
    service.faults = [
        Fault(SAMPLE, "status", 429, headers=busy, times=5),
        *(Fault(path, "status", 500, skip=1) for path in asked),
        *(Fault(path, "drop", after=after, skip=2) for path in asked for after in (False, True)),
        *(Fault(path, "junk", body='{"request', skip=1) for path in asked),
        Fault(POLL, "again", times=5, skip=5),
        Fault(STEP, "call", call=leave, skip=5),
        Fault(POLL, "status", 410, of="asample", skip=9),
    ]
    process = train(warpgym, service, world, tmp_path / "run", "policy.backoff_ms=10ms")
    warpgym.finish(process, expect=support.PASSED)
    assert [fault.path for fault in service.faults if fault.times] == []
    assert_same(tmp_path / "run", undisturbed[0])


def test_checkpoints_that_were_removed(warpgym, world, service, tmp_path):
    """None of them is the best one, and none is removed again."""
    out, environment = tmp_path / "run", {"TINKER_API_KEY": KEY}
    for steps in (4, 5):
        more = ("train.keep=1", f"train.steps={steps}")
        warpgym.finish(train(warpgym, service, world, out, *more), expect=support.PASSED)
    lines = support.read_lines(out / "checkpoints.jsonl")
    removed = [line["where"] for line in lines if "removed" in line]
    asked = [path for path, _ in service.calls if "/checkpoints/weights/" in path]
    assert len(removed) == len(set(removed)) == len(asked) >= 3
    assert {line["where"] for line in lines} - set(removed) == set(service.held())
    command = ("runs", "eval", out, "-n", 1, "-t", 1, "-q", "plus")
    warpgym.ok(*command, environment=environment)


def detail(text):
    return json.dumps({"detail": text})


# name: what happens; for how long that is borne; the exit status; what is said
ENDS = {
    "400": (
        [Fault(SAMPLE, "status", 400, detail("bad seed"), times=MANY)],
        "", support.USAGE,
        r"step 0: no held-out episode could be played: URL: bad seed \(400\)",
    ),
    "401": (
        [Fault(PASS, "status", 401, detail(f"{KEY} is no key"), skip=1)],
        "", support.USAGE,
        r"URL: \[token\] is no key: the key was refused or has expired; set TINKER_API_KEY or "
        r"policy.token "
        r"\(401\)",
    ),
    "429 that asks for too much": (
        [Fault(SAMPLE, "status", 429, headers=[("Retry-After", "100")], times=MANY)],
        "train.wait_ms=100ms", support.INFRASTRUCTURE, r"URL: answers \(429\)",
    ),
    "500 for ever": (
        [Fault(STEP, "status", 500, detail("oh"), times=MANY, skip=3)],
        "", support.INFRASTRUCTURE, r"URL: oh \(500\) \(\d+ attempts\)",
    ),
    "a request that hangs": (
        [Fault(PASS, "hang", times=MANY)],
        "policy.timeout_ms=500ms", support.INFRASTRUCTURE, r"URL: no whole answer in 0.5 s.*",
    ),
    "a poll that hangs": (
        [Fault(POLL, "hang", times=MANY, of="optim_step")],
        "policy.timeout_ms=500ms", support.INFRASTRUCTURE, r"URL: no whole answer in 0.5 s.*",
    ),
    "a future that never ends": (
        [Fault(POLL, "again", times=MANY, of="forward_backward")],
        "policy.future_timeout_ms=500ms", support.INFRASTRUCTURE,
        r"URL: no result of /api/v1/\w+ within 0.5 s \(policy.future_timeout_ms\)",
    ),
    "closed connections": (
        [Fault(FREEZE, "drop", times=MANY, skip=2)],
        "", support.INFRASTRUCTURE, r"URL: .* \(\d+ attempts\)",
    ),
    "rubbish": (
        [Fault(POLL, "junk", body="[]", of="forward")],
        "", support.INFRASTRUCTURE, r"the server's answer has no 'logprobs' of datum 0",
    ),
    "checkpoints that cannot be kept": (
        [Fault(SAVE, "status", 503, detail("full"), times=MANY)],
        "", support.INFRASTRUCTURE, r"URL: full \(503\) \(\d+ attempts\)",
    ),
    "a server that has forgotten all": (
        [Fault(SAMPLE, "call", skip=3)],
        "", support.INFRASTRUCTURE,
        r"URL: no sampler \w+ \(404\): the server lost the state of this run, as after a restart, "
        r"or has no /api/v1/asample; resume from the last checkpoint",
    ),
    "a server that has gone": (
        [Fault(STEP, "call")],
        "", support.INFRASTRUCTURE, r"URL: .*connect to.* \(\d+ attempts\)",
    ),
}  # fmt: skip


def test_faults_that_end_a_run(warpgym, world, service, undisturbed, tmp_path):
    """One after another, in one directory: each with a sentence, and the next run goes on."""
    out = tmp_path / "run"
    calls = {"a server that has forgotten all": service.restart,
             "a server that has gone": service.leave}  # fmt: skip
    saved = []
    for name, (faults, settings, status, says) in ENDS.items():
        for fault in faults:
            fault.call = calls.get(name)
        service.faults = faults
        pairs = ("policy.backoff_ms=10ms", "policy.retry_budget_ms=100ms", *settings.split())
        run = warpgym.finish(train(warpgym, service, world, out, *pairs))
        assert run.status == status, (name, run)
        sentence, *rest = run.err.replace(service.url, "URL").splitlines()
        assert re.fullmatch(f"warpgym: {says}", sentence), (name, run)
        assert KEY not in run.err and events(out)[-1] == "failed", name
        for line in rest:
            words = rf"warpgym: step (\d+) is saved; `warpgym runs resume {out}` resumes"
            saved.append(int(re.fullmatch(words, line)[1]))
    assert len(set(saved)) > 1, "no run came further than the one before"
    service.come_back()
    service.faults = []
    run = warpgym.finish(train(warpgym, service, world, out), expect=support.PASSED)
    assert_same(out, undisturbed[0])


# --- death ---------------------------------------------------------------------------------------


def test_killed(warpgym, world, service, undisturbed, tmp_path):
    """At any request, again and again: the same numbers. The server stays."""
    expected, calls = undisturbed
    draw, out, running, kills = random.Random(5), tmp_path / "run", [], 0

    def end():
        support.wait_until(lambda: running, "the process")[0].kill()

    while kills < KILLS:
        # What is asked for at the beginning of a run, and a part of the rest.
        service.faults = [Fault(None, "call", call=end, skip=draw.randrange(12 + calls // 4))]
        running[:] = [train(warpgym, service, world, out)]
        running[0].communicate()
        if running[0].returncode == support.PASSED:  # and another begins
            assert_same(out, expected)
            shutil.rmtree(out)
        else:
            assert running[0].returncode == -signal.SIGKILL
            kills += 1
        running.clear()
    service.faults = []
    warpgym.finish(train(warpgym, service, world, out), expect=support.PASSED)
    assert_same(out, expected)


# When: what the server holds back then, and whether what was done is saved.
INTERRUPTED = {
    "a pass": ([Fault(POLL, "hang", of="forward_backward", skip=3)], False),
    "samples": ([Fault(POLL, "again", times=MANY, of="asample", skip=9)], True),
    "a score": ([Fault(FORWARD, "hang", skip=1)], True),
    "samples, and nothing is saved any more": (
        [
            Fault(POLL, "hang", times=MANY, of="asample", skip=8),
            Fault(POLL, "again", times=MANY, of="save_weights"),
        ],
        False,
    ),
}


def test_interrupted(warpgym, world, service, undisturbed, tmp_path):
    """The run does not wait for futures, and the next run resumes."""
    out = tmp_path / "run"
    for name, (faults, saved) in INTERRUPTED.items():
        (first, *_), times = faults, faults[0].times
        service.faults = faults
        process = train(warpgym, service, world, out, "policy.shutdown_timeout_ms=500ms",
                        "train.save_every=100")  # fmt: skip
        support.wait_until(lambda: first.times < times, name)  # noqa: B023
        process.send_signal(signal.SIGINT)
        run = warpgym.finish(process)
        assert run.status == support.INTERRUPTED, (name, run)
        assert run.err.count("\n") == 1 and "interrupted" in run.err, (name, run)
        assert events(out)[-1] == "interrupted", name
        support.wait_until(lambda: not service.models, "the model's end")
        lines = [*support.read_lines(out / "checkpoints.jsonl"), {"step": 0}] if saved else []
        assert not saved or max(line["step"] for line in lines) == len(metrics(out)) > 0, name
    service.faults = []
    run = warpgym.finish(train(warpgym, service, world, out), expect=support.PASSED)
    assert metrics(out) == metrics(undisturbed[0])
    assert traces(out) == traces(undisturbed[0])


def test_interrupted_while_the_server_is_away(warpgym, world, service, tmp_path):
    """For longer than an address that was never right is tried."""
    out = tmp_path / "run"
    waits = Fault(POLL, "again", times=MANY, of="asample", skip=9)
    service.faults = [waits]
    process = train(warpgym, service, world, out, "policy.backoff_ms=100ms",
                    "train.save_every=100")  # fmt: skip
    support.wait_until(lambda: waits.times < MANY, "samples")
    service.leave()
    process.send_signal(signal.SIGINT)
    back = threading.Timer(4.5, service.come_back)
    back.start()
    run = warpgym.finish(process)
    back.join()
    assert run.status == support.INTERRUPTED, run
    last = support.read_lines(out / "checkpoints.jsonl")[-1]
    assert last["step"] == len(metrics(out)) > 0


def test_a_server_that_keeps_everything(warpgym, world, service, tmp_path):
    """It is asked once for each checkpoint, and the run goes on."""
    out = tmp_path / "run"
    service.keeps = True
    more = ("train.steps=3", "train.keep=1", "train.evaluate_every=0")
    warpgym.finish(train(warpgym, service, world, out, *more), expect=support.PASSED)
    assert sum("/checkpoints/" in path for path, _ in service.calls) == 2
    assert events(out) == ["began"] + 2 * ["checkpoint was not removed"] + ["finished"]
    lines = support.read_lines(out / "metrics.jsonl")
    assert lines[0]["time/save_checkpoint"] == 0 < lines[1]["time/save_checkpoint"]
