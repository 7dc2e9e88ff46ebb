"""Settings of `train.*` that change a step: each in a short run, seen in what the run writes and in
what it asks of a judge, which here goes by the text of an answer."""

import signal
import statistics
import threading
from collections import defaultdict

import fake_tinker
import pytest
import support
import tiny_world
import v1_server

PROBLEMS = "train.problems=plus minus"
STEP = (PROBLEMS, "train.steps=1", "train.prompts=2", "train.samples=8", "train.filter=none")


@pytest.fixture(scope="module")
def world(module_warpgym, tmp_path_factory):
    return tiny_world.make(module_warpgym, tmp_path_factory.mktemp("world"))


def name_of(request):
    """A server gets a problem whole: `name: plus` is its first line."""
    return request["problem"]["yaml"].split()[1]


def judged(request):
    name, source = name_of(request), request["candidate"]["source"]
    right = tiny_world.EXPRESSIONS[name] in source
    status = "passed" if right else "wrong"
    return v1_server.plain_verdict(request) | {"status": status, "correct": right}


@pytest.fixture
def play(warpgym, world, tmp_path):
    """A run with these settings: its metrics, its traces and the judge's requests."""

    def played(*pairs, judge=judged, name="run"):
        with v1_server.Server(judge) as server:
            out = tmp_path / name
            warpgym.ok(*tiny_world.arguments(world, out, *pairs, "--server", server.url))
            requests = list(server.jobs)
        return tiny_world.metrics(out), tiny_world.traces(out), requests

    return played


def by_problem(traces, key):
    values = defaultdict(list)
    for line in traces:
        values[line["problem"]].append(line[key])
    return values


def test_remax(play):
    """One more episode of each problem, that is neither traced nor trained on; its reward is what
    the others are measured by."""
    lines, traces, requests = play(*STEP, "train.estimator=remax")
    assert len(traces) == 16 and lines[0]["batch/num_trajectories"] == 16
    assert len(requests) == 1 + 2 * (8 + 1)  # and a reference
    for problem in ("plus", "minus"):
        own = [line for line in traces if line["problem"] == problem]
        baselines = {round(line["reward"] - line["advantage"], 9) for line in own}
        rewards = {line["reward"] for line in own} | {0}
        assert len(baselines) == 1 and baselines <= {round(reward, 9) for reward in rewards}
    assert lines[0]["optim/changes"] == 1


def test_standardise(play):
    _, traces, _ = play(*STEP, "train.standardise=on")
    advantages = [line["advantage"] for line in traces]
    assert statistics.mean(advantages) == pytest.approx(0, abs=1e-9)
    assert statistics.stdev(advantages) == pytest.approx(1)


def test_reweigh(play):
    """By the inverse variance of each problem, whose answers differ in how often they are right."""
    _, plain, _ = play(*STEP, name="plain")
    _, traces, _ = play(*STEP, "train.reweigh=prompts", "train.energy=rows")
    shares = {}
    for problem, values in by_problem(plain, "advantage").items():
        shares[problem] = 1 / (statistics.pvariance(values) / (len(values) - 1) + 1e-8)
    for before, after in zip(plain, traces, strict=True):
        factor = 2 * shares[before["problem"]] / sum(shares.values())
        assert after["advantage"] == pytest.approx(factor * before["advantage"], abs=1e-6)


@pytest.mark.parametrize("name", ["token_optimal_baseline", "turn_optimal_baseline"])
def test_baselines_by_scores(play, name):
    """The engine has the whole distribution: weights by scores are not weights by rows."""
    seen = []
    for energy in ("scores", "rows"):
        _, traces, _ = play(*STEP, f"train.estimator={name}", f"train.energy={energy}", name=energy)
        seen.append([line["advantage"] for line in traces])
    assert seen[0] != seen[1]
    assert all(a == pytest.approx(b, abs=0.5) for a, b in zip(*seen, strict=True))


def test_weights_are_measured(play):
    lines, _, _ = play(*STEP, "train.importance=sequence", "train.ratio=trained")
    assert lines[0]["mismatch/rollout_is_mean"] == pytest.approx(1, abs=1e-3)
    assert lines[0]["mismatch/rollout_is_eff_sample_size"] == pytest.approx(1, abs=1e-3)


def test_unknown_distribution(warpgym, world, tmp_path):
    run = warpgym(*tiny_world.arguments(world, tmp_path / "run", *STEP, "train.rescore=false",
                                        "train.estimator=token_optimal_baseline"),
                  expect=support.USAGE)  # fmt: skip
    assert "set train.energy to tokens or rows" in run.complaint


# --- returns, and which episodes and problems stay -----------------------------------------------


def test_outcome_in_returns(play):
    pairs = ("train.success_bonus=0.5", "train.failure_penalty=0.25")
    _, traces, _ = play(*STEP, *pairs)
    for line in traces:
        right = line["status"] == "passed"
        assert line["return"] == pytest.approx(line["reward"] + (0.5 if right else -0.25))
    assert {line["status"] for line in traces} == {"passed", "wrong"}


def test_normalised_returns(play):
    _, traces, _ = play(*STEP, "train.normalise_returns=on", "gym.turns=3", "train.context=190")
    episodes = defaultdict(list)
    for line in traces:
        episodes[line["rollout"]].append(line["return"])
    several = [values for values in episodes.values() if statistics.pstdev(values) > 0]
    assert several
    for values in several:
        assert statistics.mean(values) == pytest.approx(0, abs=1e-9)
        assert statistics.pstdev(values) == pytest.approx(1)


def test_oversampling(play):
    """Of 12 episodes of each problem the 4 that pay most for their tokens stay, of 4 problems 2."""
    lines, traces, requests = play(
        "train.problems=plus minus twice half", "train.steps=1", "train.prompts=2",
        "train.samples=4", "train.oversample=3", "train.oversample_prompts=2",
        "train.surplus=efficient",
    )  # fmt: skip
    assert len(requests) == 1 + 4 * 12 and len(traces) == 48
    surplus = 128
    kept = defaultdict(list)
    for line in traces:
        if line["drop"] == 0:
            kept[line["problem"]].append(line)
    assert len(kept) <= 2 and all(len(lines) == 4 for lines in kept.values())
    assert lines[0]["batch/datums"] <= 8
    for problem, stayed in kept.items():
        for line in traces:
            if line["problem"] == problem and line["drop"] == surplus and line["reward"] > 0:
                least = min(one["answer_tokens"] for one in stayed if one["reward"] > 0)
                assert least <= line["answer_tokens"]
        assert {line["reward"] > 0 for line in stayed} == {False, True}


def test_gates(play):
    """The engine agrees with itself; but some tokens are far less likely than the likeliest."""
    passed, _, _ = play(*STEP, "train.gate_shift=0.001", name="shift")
    assert passed[0]["mismatch_quality/masked_count"] == 0
    refused, traces, _ = play(*STEP, "train.gate_instability=0.01", name="instability")
    assert refused[0]["mismatch_quality/masked_count"] > 0
    assert any(line["drop"] & 8 for line in traces)


def test_adaptive_penalty(play):
    """Weights that do not move are too near to any target: the weight falls, a fifth at most."""
    pairs = ("train.kl=0.1", "train.kl_target=5", "train.kl_horizon=32", "train.steps=3")
    lines, _, _ = play(*STEP[:1], *STEP[2:], *pairs)
    weights = [line["policy/kl_weight"] for line in lines[:3]]
    assert weights == pytest.approx([0.1, 0.1 * 0.9, 0.1 * 0.9**2])


def test_longer_answers(play):
    pairs = ("train.max_tokens=10", "train.max_tokens_later=1:20,2:120", "train.steps=3")
    _, traces, _ = play(*STEP[:1], *STEP[2:], *pairs)
    longest = [max(line["answer_tokens"] for line in traces if line["step"] == step)
               for step in range(3)]  # fmt: skip
    assert longest[:2] == [10, 20] and longest[2] > 20


def test_first_correct_answer_ends_an_episode(play):
    _, traces, _ = play(*STEP, "gym.turns=3", "gym.stop_correct=true", "train.context=190")
    episodes = defaultdict(list)
    for line in traces:
        episodes[line["rollout"]].append(line["status"])
    assert any("passed" in statuses for statuses in episodes.values())
    for statuses in episodes.values():
        assert "passed" not in statuses[:-1]


# --- which problems come next --------------------------------------------------------------------

ALL = "train.problems=plus minus twice half"


def only_plus(request):
    """Each answer to `plus` is right, none to another problem."""
    verdict = v1_server.plain_verdict(request)
    right = name_of(request) == "plus"
    return verdict | {"status": "passed" if right else "wrong", "correct": right}


def played(traces):
    steps = defaultdict(list)
    for line in traces:
        if line["problem"] not in steps[line["step"]]:
            steps[line["step"]].append(line["problem"])
    return [problem for step in sorted(steps) for problem in steps[step]]


def seen(out):
    (last,) = support.read_lines(out / "checkpoints.jsonl")[-1:]
    return {index: (rate, uses, values) for index, rate, uses, values in last["state"]["seen"]}


@pytest.mark.parametrize("order", ["priority", "moderate"])
def test_solved_problems_come_less(play, order):
    """What is always solved is never played again; what never is stays, or stays now and then."""
    pairs = (ALL, "train.steps=12", "train.prompts=1", "train.samples=2", f"train.order={order}")
    _, traces, _ = play(*pairs, judge=only_plus)
    problems = played(traces)
    assert len(problems) == 12 and problems.count("plus") == (1 if "plus" in problems else 0)
    if order == "priority":
        assert {"minus", "twice", "half"} <= set(problems)


def test_curriculum(play, warpgym, world, tmp_path):
    """Around problems that are always solved; and a run that was interrupted goes on alike."""
    pairs = (ALL, "train.prompts=2", "train.samples=2", "train.order=target",
             "train.order_target=1", "train.order_fresh=0")  # fmt: skip
    _, traces, _ = play(*pairs, "train.steps=8", judge=only_plus)
    problems = played(traces)
    known = [p for p in problems[8:] if p == "plus"]  # after each had its turn
    assert len(known) >= 3
    out = tmp_path / "run"
    records = seen(out)
    assert records[0][0] == 1 and all(records[i][0] == 0 for i in (1, 2, 3) if i in records)
    assert sum(uses for _, uses, _ in records.values()) == 16

    halves = tmp_path / "halves"
    with v1_server.Server(only_plus) as server:
        for steps in (3, 8):
            warpgym.ok(*tiny_world.arguments(world, halves, *pairs, f"train.steps={steps}",
                                             "--server", server.url))  # fmt: skip
    assert tiny_world.traces(halves) == traces and seen(halves) == records


def test_critic(play, tmp_path):
    """The value of a problem's turn is its mean return so far."""
    pairs = (PROBLEMS, "train.steps=3", "train.prompts=2", "train.samples=8", "train.filter=none")
    _, traces, _ = play(*pairs, "train.estimator=egae", "train.critic=0.5")
    means = {"plus": None, "minus": None}
    for step in range(3):
        for problem, value in means.items():
            rewards = [t["reward"] for t in traces
                       if t["problem"] == problem and t["step"] == step]  # fmt: skip
            mean = statistics.mean(rewards)
            means[problem] = mean if value is None else value + 0.5 * (mean - value)
    values = {index: line[2][0] for index, line in seen(tmp_path / "run").items()}
    assert values == {0: pytest.approx(means["plus"]), 1: pytest.approx(means["minus"])}
    _, without, _ = play(*pairs, "train.estimator=egae", name="without")
    assert [line["advantage"] for line in without[:16]] == [t["advantage"] for t in traces[:16]]
    later = [(a["advantage"], b["advantage"]) for a, b in zip(traces, without, strict=True)]
    assert any(one != other for one, other in later[16:])


# --- losses --------------------------------------------------------------------------------------


def model_of(tmp_path, name):
    return (tmp_path / name / "model" / "model.safetensors").read_bytes()


def test_ratio_of_a_turn(play, tmp_path):
    """As the ratio of tokens while the weights are those that sampled; from the second change on
    it is another one."""
    pairs = (*STEP, "train.loss=ppo", "train.clip_low=0.5", "train.clip_high=2")
    losses = {}
    for level in ("token", "turn"):
        for substeps in (1, 2):
            lines, _, _ = play(*pairs, f"train.ratio_level={level}", f"train.substeps={substeps}",
                               "train.rate=0.01", name=f"{level}{substeps}")  # fmt: skip
            losses[level, substeps] = (lines[0]["optim/grad_norm"], lines[0]["optim/loss"])
    assert losses["turn", 1] == pytest.approx(losses["token", 1], rel=1e-3, abs=1e-4)
    assert losses["turn", 2] != pytest.approx(losses["token", 2], rel=1e-6)


@pytest.mark.parametrize("estimator", ["k1", "k2", "k3"])
def test_kl_in_the_loss(play, estimator):
    """It pulls back what has moved away; problems that teach nothing feel it, too."""
    pairs = (*STEP[:1], *STEP[2:], "train.steps=6", "train.rate=0.01", "train.kl_in=loss",
             f"train.kl_estimator={estimator}")  # fmt: skip
    away = {}
    for weight in ("0.000001", "2"):
        lines, _, _ = play(*pairs, f"train.kl={weight}", name=weight)
        away[weight] = abs(lines[5]["policy/kl_base"])
        assert lines[0]["batch/datums"] == 16
    if estimator != "k1":  # whose gradient is that of no distance, in expectation 0
        assert away["2"] < away["0.000001"]
    assert away["2"] != away["0.000001"]


def test_epochs(play):
    lines, _, _ = play(*STEP, "train.epochs=3", "train.substeps=2", "train.loss=ppo")
    assert lines[0]["optim/changes"] == 6
    assert lines[0]["optim/tokens"] > 0


def test_long_answers(play):
    """Those that were cut are not trained on; those near the end lose reward."""
    cut = (*STEP, "train.max_tokens=60")
    kept, _, _ = play(*cut, name="kept")
    masked, traces, _ = play(*cut, "train.overlong=mask", name="masked")
    assert kept[0]["batch/cut"] == masked[0]["batch/cut"] > 0
    assert masked[0]["batch/datums"] <= kept[0]["batch/datums"] - masked[0]["batch/cut"]
    _, traces, _ = play(*cut, "train.overlong_buffer=20", "train.overlong_penalty=0.5")
    for line in traces:
        lost = max(line["answer_tokens"] - 40, 0) / 20 * 0.5
        assert line["return"] == pytest.approx(line["reward"] - lost)
    assert any(line["return"] < line["reward"] for line in traces)


# --- steps played ahead --------------------------------------------------------------------------


def test_several_steps_ahead(play, tmp_path):
    """Each step trains on the problems of its own round, with answers up to three steps old."""
    pairs = (ALL, "train.steps=8", "train.prompts=2", "train.samples=4", "train.filter=none",
             "train.loss=ppo", "train.rate=0.001")  # fmt: skip
    lines, traces, requests = play(*pairs, "train.staleness=3")
    assert [line["step"] for line in traces] == [step for step in range(8) for _ in range(8)]
    assert len(requests) == 1 + 8 * 8
    lags = [line["lag/max"] for line in lines[:8]]
    assert lags[0] == 0 and 2 <= max(lags) <= 3
    _, together, _ = play(*pairs, name="together")
    assert played(traces) == played(together)


def test_carried_over(play):
    """Problems whose verdicts are late do not hold a step up: they come in a later one, whole."""
    others = threading.Semaphore(0)
    waiting = []

    def late(request):
        if name_of(request) != "half":
            others.release()
        elif len(waiting) < 2:  # the first episodes: sixteen verdicts of others come before
            waiting.append(request["id"])
            for _ in range(8):
                others.acquire(timeout=10)
        return judged(request)

    pairs = (ALL, "train.steps=6", "train.prompts=2", "train.samples=2", "train.filter=none",
             "train.loss=ppo", "train.jobs=24")  # fmt: skip
    _, plain, _ = play(*pairs, name="plain")
    lines, traces, _ = play(*pairs, "train.staleness=2", "train.carry=true", judge=late)
    assert all(line["batch/num_groups"] == 2 for line in lines[:6])
    assert all(line["batch/num_trajectories"] == 4 for line in lines[:6])
    assert len({(line["step"], line["rollout"]) for line in traces}) == 24
    assert played(traces).index("half") >= 5 > played(plain).index("half")
    assert max(line["lag/max"] for line in lines[:6]) >= 1


def test_ahead_and_killed(warpgym, world, tmp_path):
    """A run with rounds in flight ends at once, and goes on from its last checkpoint."""
    out = tmp_path / "run"
    pairs = (ALL, "train.prompts=2", "train.samples=2", "train.staleness=2", "train.carry=true",
             "train.save_every=2")  # fmt: skip
    with v1_server.Server(judged) as server:
        again = tiny_world.arguments(world, out, *pairs, "--server", server.url)
        process = warpgym.start(*again, "train.steps=2000")
        path = out / "metrics.jsonl"
        support.wait_until(lambda: path.exists() and path.read_bytes().count(b"\n") >= 5, "steps")
        process.send_signal(signal.SIGKILL)
        process.communicate()
        done = max(line["step"] for line in support.read_lines(out / "checkpoints.jsonl"))
        warpgym.ok(*again, f"train.steps={done + 3}")
    assert [line["step"] for line in tiny_world.metrics(out)][: done + 3] == list(range(done + 3))


def test_composed_losses_at_a_service(warpgym, world, tmp_path):
    """Their slopes are weights of cross entropy, which every service has: the first change is the
    engine's. A fresh adapter moves nothing, and all ratios are 1."""
    model, seen = world.parent / "base" / "model", {}
    pairs = (*STEP, "train.lora_rank=4", "train.loss=ppo", "train.ratio_level=turn", "train.kl=0.1",
             "train.kl_in=loss", "train.context=160", "train.success_bonus=1")  # fmt: skip
    for backend in ("engine", "tinker"):
        with v1_server.Server(judged) as judge, fake_tinker.FakeTinker(model, tmp_path) as service:
            more = ["--server", judge.url, "train.estimator=return", "train.epochs=2"]
            if backend == "tinker":
                more += ["train.backend=tinker", f"train.model={fake_tinker.BASE}",
                         f"train.tokenizer={model}", f"train.url={service.url}"]  # fmt: skip
            out = tmp_path / backend
            warpgym.ok(*tiny_world.arguments(world, out, *pairs, *more))
        (line,) = [line for line in tiny_world.metrics(out) if "optim/loss" in line]
        assert line["optim/changes"] == 2 and abs(line["optim/loss"]) > 0.1
        seen[backend] = (line["optim/loss"], line["optim/tokens"])
    assert seen["tinker"] == pytest.approx(seen["engine"], rel=1e-2)
