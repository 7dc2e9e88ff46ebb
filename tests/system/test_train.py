"""`warpgym train` from end to end, with the real judge: it learns, dies and goes on to the same
numbers, waits for who is away, and says in one sentence what cannot be."""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import time

import pytest
import support
import tiny_world
from serving import Server
from tiny_world import arguments, events, metrics, traces

KILLS = int(os.environ.get("TRAIN_KILLS", "10"))
EVERYTHING = "train.problems=plus minus twice half"


@pytest.fixture(scope="module")
def world(module_warpgym, tmp_path_factory):
    return tiny_world.make(module_warpgym, tmp_path_factory.mktemp("world"))


# --- learning ------------------------------------------------------------------------------------


def test_it_learns(warpgym, world, tmp_path):
    """One problem, four answers at first equally likely, one of them right."""
    out = tmp_path / "run"
    run = warpgym(
        *arguments(world, out, "train.problems=plus", "train.prompts=1", "train.samples=32"),
        "train.steps=10", "train.held_out=minus", "train.evaluate_every=5", "train.keep=1",
    )  # fmt: skip
    assert run.status == support.PASSED, run
    assert run.out.splitlines()[-1] == str(out) and "10 steps; at last" in run.out
    lines = metrics(out)
    assert [line["step"] for line in lines] == list(range(11))
    rates = [line["kernel/correct_rate"] for line in lines[:-1]]
    assert sum(rates[:2]) / 2 < 0.5 < sum(rates[-3:]) / 3
    assert all(abs(line["mismatch/mismatch_k3_kl"]) < 1e-6 for line in lines[:-1])
    assert [line["step"] for line in lines if "eval/correct_rate" in line] == [0, 5, 10]
    assert lines[-1]["eval/pass@1"] == lines[-1]["eval/correct_rate"]

    first = traces(out)[0]
    assert first["step"] == 0 and first["problem"] == "plus" and first["policy_version"] == 0
    assert first["prompt"] == [{"role": "user", "content": "plus"}]
    assert len(traces(out)) == 320
    verdicts = [line["verdict"] for line in support.read_lines(out / "traces.jsonl")]
    assert {verdict["status"] for verdict in verdicts if verdict} >= {"passed", "wrong"}
    assert {path.name for path in (out / "model").iterdir()} >= {
        "config.json", "model.safetensors", "tokenizer.json",
    }  # fmt: skip
    kept = {path.name for path in (out / "checkpoints").iterdir()}
    assert "step-000010" in kept and len(kept) <= 2

    # The same policy on the problem that it knows, and what it was before.
    shares = {}
    for name in ("base", "last"):
        run = warpgym("runs", "eval", out, "-c", name, "-n", 16, "-t", 1, "--json", "-q", "plus")
        assert run.status == support.PASSED, run
        figures = json.loads(run.out)["runs"][0]["figures"]
        shares[name] = next(f["value"] for f in figures if f["name"] == "pass_at_k")
    assert shares["base"] < 0.6 < shares["last"]
    run = warpgym("report", *(out / "evaluations" / name for name in ("base", "step-000010")))
    assert run.status == support.PASSED and "plus" in run.out or "pass@1" in run.out


def test_cold_start(warpgym, world, tmp_path):
    """Fine-tuning alone, then both: one counter of steps, one directory."""
    data = f"train.sft_data={world.parent / 'sft.jsonl'}"
    tuning = (data, "train.sft_epochs=2", "train.sft_tokens=512", "train.sft_rate=0.001")
    alone, both = tmp_path / "alone", tmp_path / "both"
    run = warpgym(*arguments(world, alone, *tuning, "train.steps=0"))
    assert run.status == support.PASSED, run
    steps = metrics(alone)
    assert len(steps) >= 4 and all(line["sft/targets"] > 0 for line in steps)
    assert steps[-1]["optim/lr"] < steps[0]["optim/lr"] <= 0.001
    run = warpgym(*arguments(world, both, *tuning, EVERYTHING, "train.steps=2", "train.prompts=2"))
    assert run.status == support.PASSED, run
    lines = metrics(both)
    assert [line.get("sft/loss") for line in lines[: len(steps)]] == [
        line["sft/loss"] for line in steps
    ]
    assert ["reward/mean" in line for line in lines] == [False] * len(steps) + [True] * 2
    assert {line["policy_version"] for line in traces(both)} == {len(steps), len(steps) + 1}


# --- death ---------------------------------------------------------------------------------------

# All that has a state: fine-tuning, several turns, rounds, stages, evaluations, changes in a step.
MANY = (
    EVERYTHING, "train.held_out=half", "train.steps=5", "train.prompts=2", "train.samples=4",
    "train.rounds=3", "train.substeps=2", "train.evaluate_every=2", "train.save_every=2",
    "train.stages=staged1 formatted 0.2, kevin", "train.stage_steps=2", "train.loss=ppo",
    "train.method=drkernel", "gym.turns=2", "train.temperature=1.2",
    "train.sft_epochs=1", "train.sft_tokens=512", "train.kl=0.01", "train.schedule=linear",
)  # fmt: skip


def test_killed(warpgym, world, tmp_path):
    """At any instant, again and again: the same numbers, traces and weights."""
    draw = random.Random(11)
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    more = (*MANY, f"train.sft_data={world.parent / 'sft.jsonl'}")
    began = time.monotonic()
    run = warpgym(*arguments(world, whole, *more))
    took_s = time.monotonic() - began
    assert run.status == support.PASSED, run
    kills = 0
    while kills < KILLS:
        process = warpgym.start(*arguments(world, parts, *more))
        try:
            process.wait(draw.uniform(0.05, 1 + took_s / 4))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            kills += 1
        process.communicate()
        if process.returncode == 0:  # it came to its end, and another begins
            assert_same(parts, whole)
            shutil.rmtree(parts)
        else:
            assert process.returncode == -signal.SIGKILL
    run = warpgym(*arguments(world, parts, *more))
    assert run.status == support.PASSED, run
    assert_same(parts, whole)
    lines = [line for line in metrics(whole) if "reward/mean" in line]
    assert any(line["optim/changes"] == 2 for line in lines)
    assert any(line["batch/num_groups"] > 2 for line in lines)  # further rounds
    stages = [line["progress/stage"] for line in metrics(whole) if "progress/stage" in line]
    assert stages[0] == 1 and stages[-1] == 2


def states(out):
    lines = support.read_lines(out / "checkpoints.jsonl")
    return {line["name"]: tiny_world.state(line) for line in lines}


def assert_same(one, two):
    assert metrics(one) == metrics(two)
    assert traces(one) == traces(two)
    for name in ("model.safetensors", "config.json"):
        assert (one / "model" / name).read_bytes() == (two / "model" / name).read_bytes()
    assert states(one) == states(two)


def test_interrupted(warpgym, world, tmp_path):
    out = tmp_path / "run"
    again = arguments(world, out, EVERYTHING, "train.steps=2000", "train.prompts=2")
    process = warpgym.start(*again, "train.save_every=1000")
    lines = out / "metrics.jsonl"
    support.wait_until(lambda: lines.exists() and lines.read_bytes().count(b"\n") >= 2, "steps")
    other = warpgym(*again, "train.save_every=1000")
    assert other.status != support.PASSED and "a run is under way there" in other.complaint
    process.send_signal(signal.SIGINT)
    run = warpgym.finish(process)
    assert run.status == support.INTERRUPTED, run
    done = len(metrics(out))
    assert f"step {done} is saved, and `warpgym runs resume {out}` goes on" in run.err
    (checkpoint,) = support.read_lines(out / "checkpoints.jsonl")
    assert checkpoint["step"] == done and events(out) == ["began", "interrupted"]

    changed = warpgym("runs", "resume", out, "train.rate=0.5", "-q")
    assert changed.status == support.USAGE
    assert "the run began with train.rate 0.001, now it is 0.5" in changed.complaint
    run = warpgym("runs", "resume", out, f"train.steps={done + 1}", "-q")
    assert run.status == support.PASSED, run
    assert [line["step"] for line in metrics(out)] == list(range(done + 1))
    assert events(out)[2:] == ["resumed", "finished"]


def test_patience(warpgym, world, tmp_path):
    """Nothing can be better than the first evaluation of a policy that hardly moves."""
    out = tmp_path / "run"
    run = warpgym(
        *arguments(world, out, EVERYTHING, "train.held_out=half", "train.steps=50"),
        "train.rate=0.000000001", "train.evaluate_every=1", "train.patience=2", "train.prompts=1",
    )  # fmt: skip
    assert run.status == support.PASSED, run
    assert "ended for want of progress" in run.out
    assert [line["step"] for line in metrics(out)] == [0, 1, 2]


def test_played_ahead(warpgym, world, tmp_path):
    out = tmp_path / "run"
    run = warpgym(
        *arguments(world, out, EVERYTHING, "train.lag=2", "train.steps=6", "train.prompts=2"),
        "train.loss=ppo", "train.rate=0.0001",
    )  # fmt: skip
    assert run.status == support.PASSED, run
    lines = metrics(out)
    assert len(lines) == 6 and lines[0]["lag/max"] == 0
    assert 0 < max(line["lag/max"] for line in lines) <= 2
    assert all(0 <= line["policy_version"] <= line["step"] for line in traces(out))


def test_progress(warpgym, world, tmp_path):
    command = ("train", world, "-o", tmp_path / "run", EVERYTHING, "train.steps=2", "--problems",
               world.parent / "problems")  # fmt: skip
    run = warpgym(*command, environment={"TERM": "dumb"})
    assert run.status == support.PASSED, run
    assert re.match(r"2 steps; at last reward \d\.\d+, correct \d+ %\n", run.out)


# --- who is away, and what is full ---------------------------------------------------------------


def test_judge_that_goes_away(warpgym, world, tmp_path):
    out = tmp_path / "run"
    places = ("-s", f"problems.path={world.parent / 'problems'}")
    server = Server(warpgym, "--workers", "1", *places)
    url = f"http://127.0.0.1:{server.port}"
    process = warpgym.start(
        *arguments(world, out, EVERYTHING, "train.steps=6", "train.prompts=2", "--server", url),
        "client.patience_ms=100ms", "train.wait_ms=60s",
    )  # fmt: skip
    lines = out / "metrics.jsonl"
    support.wait_until(lambda: lines.exists() and lines.stat().st_size > 0, "a step")
    server.stop()
    time.sleep(1)
    assert process.poll() is None
    again = Server(warpgym, "--workers", "1", "--listen", f"127.0.0.1:{server.port}", *places)
    run = warpgym.finish(process)
    again.stop()
    assert run.status == support.PASSED, run
    assert [line["step"] for line in metrics(out)] == list(range(6))
    assert all(line["batch/excluded"] == 0 for line in metrics(out))


def test_judge_that_stays_away(warpgym, world, tmp_path):
    out = tmp_path / "run"
    pairs = ("train.wait_ms=200ms", "client.patience_ms=100ms", "client.url=http://127.0.0.1:9")
    run = warpgym(*arguments(world, out, EVERYTHING, "train.steps=2", *pairs))
    assert run.status == support.INFRASTRUCTURE, run
    assert "127.0.0.1:9" in run.complaint


def test_full_disk(warpgym, world, tmp_path, full_disk):
    out = full_disk / "run"
    run = warpgym(*arguments(world, out, EVERYTHING, "train.steps=2"))
    assert run.status == support.INFRASTRUCTURE, run
    assert "No space left" in run.complaint and str(full_disk) in run.complaint


# --- what cannot be ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pairs", "complaint"),
    [
        (["train.stepps=3"], "there is no setting 'train.stepps'; did you mean 'train.steps'?"),
        (["train.steps=many"], "train.steps: 'many' is not a whole number"),
        (["train.method=trlo"], "there is no method 'trlo'; did you mean 'trloo'?"),
        (["train.model=nowhere"], "train.model: nowhere/config.json: no such file"),
        (["train.tokenizer=nowhere"], "train.tokenizer: nowhere/tokenizer.json: no such file"),
        (["train.problems=plsu"], "no problem 'plsu'"),
        (["train.held_out=plus"], "nothing is left to train on"),
        (["train.stages=staged1 compiled"], "train.stages"),
        (["gym.reward=kevn"], "kevn"),
        (["train.batch_tokens=16777216", "train.recompute=false"], "GB are free"),
        (["train.sft_data=nothing.jsonl"], "nothing.jsonl"),
        (["gym.style=tersse"], "tersse"),
        (["gym.coverage=named"], "there is no coverage 'named'"),
        (["train.samples=1"], "train.samples: the only answer to a problem has no other"),
        (["train.max_tokens=10", "train.context=2"], "no episode could be played"),
    ],
)
def test_refused(warpgym, world, tmp_path, pairs, complaint):
    out = tmp_path / "run"
    run = warpgym(*arguments(world, out, "train.problems=plus", "train.steps=2", *pairs))
    assert run.status == support.USAGE, run
    assert complaint in run.complaint, run
    if "no episode" not in complaint and "kevn" not in complaint:
        assert not out.exists()


def test_no_reference_passes(warpgym, world, tmp_path):
    folder = tmp_path / "broken"
    text = tiny_world.PROBLEM.format(name="broken")
    support.write(folder / "broken" / "problem.yaml", text)
    support.write(folder / "broken" / "reference.c", "void solution(void) { syntax error\n")
    out = tmp_path / "run"
    run = warpgym(*arguments(world, out, f"train.problems={folder / 'broken'}", "train.steps=1"))
    assert run.status == support.USAGE, run
    assert "not even a problem's own reference passes, of 1 that were tried" in run.complaint
    assert not (out / "checkpoints.jsonl").exists() or not metrics(out)


def test_commands_without_a_run(warpgym, tmp_path):
    for command in (("train",), ("runs", "resume"), ("runs", "eval")):
        run = warpgym(*command)
        assert run.status == support.USAGE and "--help" in run.complaint
    run = warpgym("runs", "resume", tmp_path / "none")
    assert run.status == support.USAGE and "there is no run" in run.complaint
    run = warpgym("train", tmp_path / "none.yaml")
    assert run.status == support.USAGE and "none.yaml" in run.complaint
