"""`warpgym train` from end to end, with the real judge: it learns, dies and goes on to the same
numbers, waits for a server that is away, and reports impossible settings in one sentence."""

import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import time

import browser
import fake_tinker
import gym_packages
import pytest
import support
import tiny_world
import v1_server
from run_page import SHOWN, Page, assert_curves
from serving import Server
from tiny_world import arguments, events, metrics, traces

KILLS = int(os.environ.get("TRAIN_KILLS", "10"))
EVERYTHING = "train.problems=plus minus twice half"


@pytest.fixture(scope="module")
def world(module_warpgym, tmp_path_factory):
    return tiny_world.make(module_warpgym, tmp_path_factory.mktemp("world"))


def name_of(request):
    """A server gets a problem whole: `name: plus` is its first line."""
    return request["problem"]["yaml"].split()[1]


def judged(request):
    """As the real judge would, by the text alone."""
    name, source = name_of(request), request["candidate"]["source"]
    right = tiny_world.EXPRESSIONS[name] in source
    status = "passed" if right else "wrong"
    return v1_server.plain_verdict(request) | {"status": status, "correct": right}


# --- learning ------------------------------------------------------------------------------------


def test_it_learns(warpgym, world, tmp_path):
    """One problem, four answers at first equally likely, one of them right."""
    out = tmp_path / "run"
    run = warpgym.ok(
        *arguments(world, out, "train.problems=plus", "train.prompts=1", "train.samples=32"),
        "gym.gamma=0.75", "train.steps=10", "train.held_out=minus",
        "train.evaluate_every=5", "train.keep=1",
    )  # fmt: skip
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
        run = warpgym.ok("runs", "eval", out, "-c", name, "-n", 16, "-t", 1, "--json", "-q", "plus")
        figures = json.loads(run.out)["runs"][0]["figures"]
        shares[name] = next(f["value"] for f in figures if f["name"] == "pass_at_k")
    played = list((out / "evaluations").rglob("*.jsonl"))
    discounts = {line["gamma"] for path in played for line in support.read_lines(path)}
    assert discounts == {0.75} and len(played) >= 4  # as it was trained
    assert shares["base"] < 0.6 < shares["last"]
    run = warpgym("report", *(out / "evaluations" / name for name in ("base", "step-000010")))
    assert run.status == support.PASSED and "plus" in run.out or "pass@1" in run.out


def test_cold_start(warpgym, world, tmp_path):
    """Fine-tuning alone, then both: one counter of steps, one directory."""
    data = f"train.sft_data={world.parent / 'sft.jsonl'}"
    tuning = (data, "train.sft_epochs=2", "train.sft_tokens=512", "train.sft_rate=0.001")
    alone, both = tmp_path / "alone", tmp_path / "both"
    warpgym.ok(*arguments(world, alone, *tuning, "train.steps=0"))
    steps = metrics(alone)
    assert len(steps) >= 4 and all(line["sft/targets"] > 0 for line in steps)
    assert steps[-1]["optim/lr"] < steps[0]["optim/lr"] <= 0.001
    page = Page(warpgym("runs", "report", alone, "-o", "-").out)
    recorded = support.read_lines(alone / "metrics.jsonl")
    assert all(line["time/total"] > 0 for line in recorded)
    curves = assert_curves(page, recorded)
    assert curves >= {"sft/loss", "time/total", "optim/grad_norm", "optim/lr"}
    assert not {"held-out", "problems", "answers"} & page.ids and "settings" in page.ids
    warpgym.ok(*arguments(world, both, *tuning, EVERYTHING, "train.steps=2", "train.prompts=2"))
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
    "train.rounds=3", "train.substeps=2", "train.evaluate_every=3", "train.save_every=3",
    "train.stages=staged1 formatted 0.2, kevin", "train.stage_steps=2", "train.loss=ppo",
    "train.method=drkernel", "gym.turns=2", "train.temperature=1.2",
    "train.sft_epochs=1", "train.sft_tokens=512", "train.kl=0.01", "train.schedule=linear",
    "train.text_every=2",
)  # fmt: skip


@pytest.fixture(scope="module", params=[0, 1])
def killed(request, module_warpgym, world, tmp_path_factory):
    """An undisturbed run, and the same one killed again and again; with rollouts ahead or not."""
    warpgym, lag, folder = module_warpgym, request.param, tmp_path_factory.mktemp("killed")
    draw = random.Random(11 + lag)
    whole, parts = folder / "whole", folder / "parts"
    more = (*MANY, f"train.sft_data={world.parent / 'sft.jsonl'}", f"train.staleness={lag}")
    began = time.monotonic()
    run = warpgym(*arguments(world, whole, *more))
    took_s = time.monotonic() - began
    assert run.status == support.PASSED, run
    kills = 0
    while kills < KILLS / 2:
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
    run = warpgym.ok(*arguments(world, parts, *more))
    return whole, parts, lag


def test_killed(killed):
    """At any instant, again and again: the same numbers, traces and weights."""
    whole, parts, lag = killed
    assert_same(parts, whole)
    lines = [line for line in metrics(whole) if "reward/mean" in line]
    assert any(line["optim/changes"] == 2 for line in lines)
    assert any(line["batch/num_groups"] > 2 for line in lines)  # further rounds
    stages = [line["progress/stage"] for line in metrics(whole) if "progress/stage" in line]
    assert stages[0] == 1 and stages[-1] == 2
    assert max(line["lag/max"] for line in lines) == 2 * lag  # changes of a step


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
    pairs = ("train.steps=2000", "train.prompts=2", "train.staleness=1")
    again = arguments(world, out, EVERYTHING, *pairs)
    process = warpgym.start(*again, "train.save_every=1000")
    lines = out / "metrics.jsonl"
    support.wait_until(lambda: lines.exists() and lines.read_bytes().count(b"\n") >= 2, "steps")
    other = warpgym(*again, "train.save_every=1000")
    assert other.status != support.PASSED and "a run is in progress there" in other.complaint
    process.send_signal(signal.SIGINT)
    run = warpgym.finish(process, expect=support.INTERRUPTED)
    done = len(metrics(out))
    assert f"step {done} is saved; `warpgym runs resume {out}` resumes" in run.err
    (checkpoint,) = support.read_lines(out / "checkpoints.jsonl")
    assert checkpoint["step"] == done and events(out) == ["began", "interrupted"]

    changed = warpgym("runs", "resume", out, "train.rate=0.5", "-q", expect=support.USAGE)
    assert "the run was started with train.rate 0.001, now it is 0.5" in changed.complaint
    run = warpgym.ok("runs", "resume", out, f"train.steps={done + 1}", "-q")
    assert re.match(rf"{done + 1} steps; at last reward \d\.\d+, correct \d+ %\n", run.out)
    assert [line["step"] for line in metrics(out)] == list(range(done + 1))
    assert events(out)[2:] == ["resumed", "finished"]


def test_early_stop(warpgym, world, tmp_path):
    """Nothing can be better than the first evaluation of a policy that hardly moves."""
    out = tmp_path / "run"
    run = warpgym.ok(
        *arguments(world, out, EVERYTHING, "train.held_out=half", "train.steps=50"),
        "train.rate=0.000000001", "train.evaluate_every=1", "train.early_stop=2", "train.prompts=1",
    )  # fmt: skip
    assert "ended early: no improvement" in run.out
    assert [line["step"] for line in metrics(out)] == [0, 1, 2]


@pytest.mark.parametrize("backend", ["engine", "tinker"])
def test_played_ahead(warpgym, world, tmp_path, backend):
    """Which weights wrote an answer is no matter of time: where a step was played ahead, those that
    the step before it began with. And it is: the service does not train a step before answers of
    the next one are judged."""
    model, out = world.parent / "base" / "model", tmp_path / "run"
    more = [EVERYTHING, "train.staleness=1", "train.steps=7", "train.prompts=2", "train.samples=4",
            "train.held_out=half", "train.evaluate_every=4", "train.save_every=3",
            "train.loss=ppo", "train.lora_rank=4", "train.rate=0.01",
            "train.context=160", "train.kl=0.01"]  # fmt: skip
    with v1_server.Server(judged) as judge, fake_tinker.FakeTinker(model, tmp_path) as service:
        if backend == "tinker":
            more += ["train.backend=tinker", f"train.model={fake_tinker.BASE}",
                     f"train.tokenizer={model}", f"train.url={service.url}"]  # fmt: skip
        first = 1 + 1 + 8  # a reference, the held-out problem, the first step's answers
        held = fake_tinker.Fault(
            "/api/v1/optim_step", "call",
            call=lambda: support.wait_until(lambda: len(judge.jobs) > first, "the next step"),
        )  # fmt: skip
        service.faults = [held]
        run = warpgym(*arguments(world, out, *more, "--server", judge.url))
        assert (held.times == 0) == (backend == "tinker")
    assert run.status == support.PASSED, run
    lines, wrote = metrics(out)[:7], {}
    for line in traces(out):
        wrote.setdefault(line["step"], set()).add(line["policy_version"])
    trained = [sum(line["optim/changes"] for line in lines[:step]) for step in range(8)]
    for step, line in enumerate(lines):
        version = trained[step if step in (0, 3, 4, 6) else step - 1]
        assert wrote[step] == {version}, step
        assert line["lag/max"] == line["lag/mean"] == trained[step] - version
    assert {line["lag/max"] for line in lines} == {0, 1}
    # Nothing leads away from the model that the run began with but what was trained.
    away = [abs(line["policy/kl_base"]) for line in lines]
    assert away[0] < 1e-6 < max(away)


# --- what people look at -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def timed(module_warpgym, world, tmp_path_factory):
    out = tmp_path_factory.mktemp("timed") / "run"
    command = ("train", world, "-o", out, EVERYTHING, "train.steps=2", "train.held_out=half minus",
               "train.timing=true", "train.prompts=2", "train.samples=8", "train.text_every=2",
               "train.evaluate_every=1", "train.evaluate_samples=4", "--problems",
               world.parent / "problems", "train.evaluate_temperature=1")  # fmt: skip
    run = module_warpgym.ok(*command, environment={"TERM": "dumb"})
    return out, run


def test_progress(timed):
    assert re.match(r"2 steps; at last held out \d+ %\n", timed[1].out)


def test_files_of_a_run(killed, timed, warpgym, tmp_path):
    """Schemas, tags and event files, with packages that read them."""
    runs = {"TEST_WHOLE": killed[0], "TEST_KILLED": killed[1], "TEST_TIMED": timed[0]}
    variables = {name: str(path) for name, path in runs.items()}
    (tmp_path / "checks").mkdir()
    checks = (["tests/rl/train_checks.py"], warpgym.environment, variables, tmp_path / "checks")
    assert " skipped" not in gym_packages.run_checks(*checks)


def test_report(warpgym, timed):
    """The page of a run: its numbers are those of metrics.jsonl and of the trajectories."""
    out = timed[0]
    run = warpgym("runs", "report", out)
    assert run.status == support.PASSED and run.out == f"{out / 'report.html'}\n", run
    text = (out / "report.html").read_text(encoding="utf-8")
    page, lines = Page(text), support.read_lines(out / "metrics.jsonl")
    # A call takes 1 us here: on a busy machine no speedup of a step means anything.
    unknown = {"kernel/mean_speedup"} - {name for line in lines for name in line}
    assert assert_curves(page, lines) >= SHOWN - unknown
    assert {"held-out", "curves", "answers", "settings", "problems"} <= page.ids
    assert "train.evaluate_samples" in page.text and "Held-out problems, before and after" in text
    # Before and after: what `warpgym report` says of the same trajectories.
    files = [out / "evaluations" / f"step-00000{step}.jsonl" for step in (0, 2)]
    report = json.loads(warpgym("report", *files, "--samples", 4, "--json").out)
    for one, line in zip(report["runs"], (lines[0], lines[-1]), strict=True):
        value = next(f["value"] for f in one["figures"]
                     if f["name"] == "fast_p_samples" and f["p"] == 0)  # fmt: skip
        assert value == pytest.approx(line["eval/correct_rate"])
        assert f"{100 * value:.1f} %" in page.text
    warpgym.refused("`warpgym runs report ", "report", out)
    # Every candidate of both evaluations can be opened.
    assert text.count('<script type="application/json" id="e') == 2 * 2 * 4


@pytest.mark.skipif(not browser.PROGRAM, reason="chromium is not installed")
def test_report_in_chromium(warpgym, timed, tmp_path):
    """Nothing is loaded, nothing refused; with and without a table of problems."""
    bare = tmp_path / "bare"
    support.write(bare / "run.json", "{}")
    support.write_lines(bare / "metrics.jsonl", [{"step": 1, "loss": 2}, {"step": 2, "loss": 1}])
    with browser.Browser() as shown:
        for run, problems in ((timed[0], "2"), (bare, "0")):
            path = tmp_path / f"{run.name}.html"
            assert warpgym("runs", "report", run, "--out", path).status == support.PASSED
            shown.requests.clear()
            shown.open(path.as_uri())
            assert shown.value("document.documentElement.dataset.ready") == problems
            assert shown.value("document.querySelectorAll('#curves svg .line').length") > 0
            assert shown.complaints == [] and shown.requests == [path.as_uri()]


def test_compare_held_out(warpgym, timed):
    """A run and itself: no difference, in the interval of nothing."""
    run = warpgym.ok("runs", "compare", timed[0], timed[0])
    rate = support.read_lines(timed[0] / "metrics.jsonl")[-1]["eval/correct_rate"]
    first, *rows = [line.split() for line in run.out.splitlines()]
    assert first[:5] == ["held", "out,", "at", "step", "2"]
    right = next(row for row in rows if row[:2] == ["right", "answers"])
    share = [f"{100 * rate:.1f}", "%"]
    assert right[2:7] == [*share, *share, "+0.0"]
    speedup = next(row for row in rows if row[:2] == ["their", "speedup"])
    says = r"the change of speedup in column 2 is over the [12] problems that both solved"
    assert bool(re.search(says, run.out)) == (speedup[2] != "-"), run.out


# --- absent servers and full disks ---------------------------------------------------------------


SOME = (EVERYTHING, "train.steps=4", "train.prompts=2", "train.samples=4", "train.save_every=2")


def test_judge_that_goes_away(warpgym, world, tmp_path):
    """In the middle of a verdict: it is asked again, and nothing comes out another way."""
    out, whole = tmp_path / "run", tmp_path / "whole"
    places = ("-s", f"problems.path={world.parent / 'problems'}")
    server = Server(warpgym, "--workers", "1", *places)
    url = f"http://127.0.0.1:{server.port}"
    process = warpgym.start(
        *arguments(world, out, *SOME, "--server", url),
        "client.retry_budget_ms=100ms", "train.wait_ms=60s", "train.jobs=1",
    )  # fmt: skip
    lines = out / "metrics.jsonl"
    support.wait_until(lambda: lines.exists() and lines.stat().st_size > 0, "a step")
    server.stop(signal.SIGKILL)
    time.sleep(1)
    assert process.poll() is None
    again = Server(warpgym, "--workers", "1", "--listen", f"127.0.0.1:{server.port}", *places)
    run = warpgym.finish(process)
    again.stop()
    assert run.status == support.PASSED, run
    run = warpgym.ok(*arguments(world, whole, *SOME))
    assert_same(out, whole)


def test_judge_that_stays_away(warpgym, world, tmp_path):
    out = tmp_path / "run"
    pairs = ("train.wait_ms=200ms", "client.retry_budget_ms=100ms", "client.url=http://127.0.0.1:9")
    run = warpgym(
        *arguments(world, out, EVERYTHING, "train.steps=2", *pairs), expect=support.INFRASTRUCTURE
    )
    assert "127.0.0.1:9" in run.complaint


def test_full_disk(warpgym, world, tmp_path, full_disk):
    out = full_disk / "run"
    run = warpgym(
        *arguments(world, out, EVERYTHING, "train.steps=2"), expect=support.INFRASTRUCTURE
    )
    assert "No space left" in run.complaint and str(full_disk) in run.complaint


def fill(path):
    with path.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"x" * 4096)


def test_disk_that_fills_up(warpgym, world, tmp_path, small_disk):
    """While a step is played: one sentence, and with room again the same numbers."""
    out, filler = small_disk / "run", small_disk / "filler"

    def judge(request):
        if len(server.jobs) > 1 + 3 * 8 and not filler.exists():
            fill(filler)
        return judged(request)

    with v1_server.Server(judged) as calm, v1_server.Server(judge) as server:
        run = warpgym.ok(*arguments(world, tmp_path / "whole", *SOME, "--server", calm.url))
        run = warpgym(
            *arguments(world, out, *SOME, f"client.url={server.url}"), expect=support.INFRASTRUCTURE
        )
        complaint, *rest = run.err.splitlines()
        assert "No space left" in complaint and str(small_disk) in complaint
        assert rest == [f"warpgym: step 2 is saved; `warpgym runs resume {out}` resumes"]
        filler.write_bytes(b"")
        run = warpgym.ok("runs", "resume", out, "-q")
    assert_same(out, tmp_path / "whole")


@pytest.mark.parametrize("held_out", ["half", "half twice"])
def test_evaluation_that_is_not_judged(warpgym, world, tmp_path, held_out):
    """It is not a bad result: nothing was measured, or not all."""

    def judge(request):
        verdict = judged(request)
        if name_of(request) == "half":
            error = {"class": "device", "message": "the device is gone"}
            lost = {"status": "infrastructure_error", "compiled": False, "correct": False}
            verdict |= lost | {"error": error}
        return verdict

    out = tmp_path / "run"
    with v1_server.Server(judge) as server:
        run = warpgym(
            *arguments(world, out, EVERYTHING, "train.steps=3", "train.prompts=1"),
            f"train.held_out={held_out}", "train.evaluate_every=1", "train.early_stop=1",
            "train.rate=0.000000001", "--server", server.url,
        )  # fmt: skip
    assert run.status == support.PASSED, run
    lines = metrics(out)
    assert [line["step"] for line in lines] == [0, 1, 2, 3]
    assert all(("eval/correct_rate" in line) == ("twice" in held_out) for line in lines)
    assert events(out).count("evaluation was not judged") == 4
    entry = next(line for line in support.read_lines(out / "train.log") if "lost" in line)
    assert entry["lost"] == 1 and entry["why"] == "the device is gone"
    state = support.read_lines(out / "checkpoints.jsonl")[-1]["state"]
    assert state["worse"] == 0 and (state["best"] is None) == ("twice" not in held_out)


# --- what cannot be ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pairs", "complaint"),
    [
        (["train.stepps=3"], "unknown setting 'train.stepps'; did you mean 'train.steps'?"),
        (["train.steps=many"], "train.steps: 'many' is not a whole number"),
        (["train.method=trlo"], "unknown value 'trlo'; did you mean 'trloo'?"),
        (["train.model=nowhere"], "train.model: nowhere/config.json: no such file"),
        (["train.tokenizer=nowhere"], "train.tokenizer: nowhere/tokenizer.json: no such file"),
        (["train.problems=plsu"], "unknown problem 'plsu'"),
        (["train.held_out=plus"], "no problem is left to train on"),
        (["train.stages=staged1 compiled"], "train.stages"),
        (["gym.reward=kevn"], "kevn"),
        (["train.batch_tokens=16777216", "train.recompute=false"], "GB are free"),
        (["train.batch_tokens=100"], "train.batch_tokens is 100, and a turn may have the"),
        (
            ["train.batch_tokens=16777216", "train.kl=0.1"],
            " for train.kl; lower train.batch_tokens",
        ),
        (["train.sft_data=nothing.jsonl"], "nothing.jsonl"),
        (["gym.style=tersse"], "tersse"),
        (["gym.coverage=named"], "unknown value 'named'"),
        (["train.samples=1"], "train.samples: the only answer to a problem has no other"),
        (["train.max_tokens=10", "train.context=2"], "no episode could be played"),
    ],
)
def test_refused(warpgym, world, tmp_path, pairs, complaint):
    out = tmp_path / "run"
    warpgym.refused(
        complaint, *arguments(world, out, "train.problems=plus", "train.steps=2", *pairs)
    )
    if "no episode" not in complaint and "kevn" not in complaint:
        assert not out.exists()


def test_no_reference_passes(warpgym, world, tmp_path):
    bad, out = tiny_world.broken_problem(tmp_path), tmp_path / "run"
    run = warpgym(
        *arguments(world, out, f"train.problems={bad}", "train.steps=1"), expect=support.USAGE
    )
    assert "no problem's own reference passes, of 1 that were tried" in run.complaint
    assert not (out / "checkpoints.jsonl").exists() or not metrics(out)

    # A run without results does not fix its settings.
    run = warpgym.ok(*arguments(world, out, "train.problems=plus", "train.steps=1"))
    run = warpgym(*arguments(world, out, "train.problems=minus", "train.steps=1"))
    assert run.status == support.USAGE and "resume with the same settings" in run.complaint, run


def test_other_problems(warpgym, world, tmp_path):
    """A list that names others now, in a file of the same name."""
    out, names = tmp_path / "run", tmp_path / "names.txt"
    names.write_text("plus\nminus\n")
    asked = ("train.steps=2", "train.prompts=1", f"train.problems=@{names}")
    assert warpgym(*arguments(world, out, *asked)).status == support.PASSED
    names.write_text("plus\nminus\ntwice\n")
    warpgym.refused("name other problems now", "runs", "resume", out, "train.steps=3", "-q")
    names.write_text("plus\nminus\n")
    run = warpgym("runs", "resume", out, "train.steps=3", "-q")
    assert run.status == support.PASSED and len(metrics(out)) == 3, run


def test_search_paths_are_remembered(warpgym, world, tmp_path):
    """However they were typed, and wherever it goes on; moved ones are named anew."""
    out, suite = tmp_path / "run", tmp_path / "suite"
    shutil.copytree(world.parent / "problems", suite)
    rows = [row for row in world.read_text().splitlines() if not row.startswith("problems:")]
    config = support.write(tmp_path / "run.yaml", "\n".join(rows) + "\n")
    words = arguments(config, out, "train.problems=plus", "train.steps=1", "train.prompts=1")
    run = warpgym.ok(*words, "--problems", "suite", cwd=tmp_path)
    run = warpgym.ok("runs", "resume", out, "train.steps=2", "-q", cwd="/")
    moved = suite.rename(tmp_path / "moved")
    warpgym.refused("is not a directory", "runs", "resume", out, "train.steps=3", "-q")
    run = warpgym("runs", "resume", out, "train.steps=3", "-q", "--problems", moved)
    assert run.status == support.PASSED and len(metrics(out)) == 3, run
    kept = (out / "config.yaml").read_text()
    assert str(moved) in kept and str(suite) not in kept


def test_commands_without_a_run(warpgym, tmp_path):
    for command in (("train",), ("runs", "resume"), ("runs", "eval")):
        warpgym.refused("--help", *command)
    warpgym.refused("there is no run", "runs", "resume", tmp_path / "none")
    warpgym.refused("none.yaml", "train", tmp_path / "none.yaml")
