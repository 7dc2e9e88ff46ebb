"""Settings of `train.*` that change a step: each in a short run, seen in what the run writes and in
what it asks of a judge, which here goes by the text of an answer."""

import statistics
from collections import defaultdict

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
