"""What the settings of warpgym.rl switch: which rows are dropped and why, whose rewards count, and
which rollouts and prompts stay."""

import math
import sys

import numpy as np
import pytest
import rl_formulas as formulas
from support import CHECKOUT

sys.path.insert(0, str(CHECKOUT / "python"))

from warpgym import rl  # noqa: E402
from warpgym.rl import library  # noqa: E402


@pytest.fixture(autouse=True)
def own_library(monkeypatch):
    monkeypatch.setenv("WARPGYM_RL_LIBRARY", str(CHECKOUT / "build" / library.NAME))


def close(found, expected, tolerance=1e-6):
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def lazy(shares, **settings):
    """Answers that are alike but for their coverage."""
    rows = len(shares)
    given = {"rollouts": np.arange(rows), "turns": np.zeros(rows, int)} | {
        name: settings.pop(name) for name in ("rollouts", "turns") if name in settings
    }
    return rl.step(
        np.ones(rows),
        np.zeros(rows, int),
        **given,
        correct=settings.pop("correct", np.ones(rows, bool)),
        coverages=shares,
        filter="none",
        **settings,
    )


def test_coverage_is_rejected_at_its_rate():
    shares = np.random.default_rng(3).random(4000)
    step = lazy(shares, coverage="turn", coverage_threshold=0.3, coverage_factor=0.4)
    keep = np.array([formulas.keep_probability(v, 0.3, 0.4) for v in shares])
    kept = ~step.dropped("coverage")
    assert kept[keep == 1].all()
    assert not kept[keep == 0].any()
    middle = (keep > 0) & (keep < 1)
    spread = math.sqrt((keep * (1 - keep)).sum())
    assert abs((kept - keep)[middle].sum()) < 5 * spread
    close(step.metrics["coverage/coverage_rs_seq_masked_fraction"], (~kept).mean())
    close(step.metrics["coverage/coverage_rs_masked_fraction"], (~kept).mean())
    close(step.metrics["coverage/coverage_rs_correct_only_masked_fraction"], (~kept).mean())
    close(step.metrics["coverage/coverage_rs_mean_coverage"], shares.mean())
    close(step.metrics["coverage/coverage_rs_min_coverage"], shares.min())
    close(step.metrics["coverage/coverage_rs_max_coverage"], shares.max())


def test_coverage_draws_are_those_of_the_rollout():
    shares = np.full(500, 0.35)
    one = lazy(shares, coverage="turn", coverage_threshold=0.3, seed=4, step=2)
    order = np.random.default_rng(1).permutation(500)
    other = lazy(shares, rollouts=order, coverage="turn", coverage_threshold=0.3, seed=4, step=2)
    assert np.array_equal(one.drop[order], other.drop)
    again = lazy(shares, coverage="turn", coverage_threshold=0.3, seed=4, step=3)
    assert not np.array_equal(one.drop, again.drop)


@pytest.mark.parametrize(
    ("settings", "dropped"),
    [
        ({}, [True, False, False, False]),
        ({"coverage": "rollout"}, [False, False, False, False]),
        ({"coverage_turns": "every"}, [True, True, False, False]),
        ({"coverage_unknown": "zero"}, [True, False, True, False]),
        ({"coverage_threshold": 0.85}, [True, False, False, True]),
        ({"coverage": "off"}, [False, False, False, False]),
    ],
)
def test_coverage_settings(settings, dropped):
    """Turns of one rollout: the second is wrong, the third has no profile; their mean is 0.25."""
    step = lazy(
        [0.2, 0.1, math.nan, 0.8],
        rollouts=[0] * 4,
        turns=[0, 1, 2, 3],
        correct=[True, False, True, True],
        **({"coverage": "turn", "coverage_threshold": 0.22, "coverage_factor": 0} | settings),
    )
    assert step.dropped("coverage").tolist() == dropped


def test_a_fast_kernel_is_not_lazy():
    step = rl.step(
        [1, 1],
        [0, 0],
        correct=[1, 1],
        coverages=[0, 0],
        speedups=[3, 2],
        coverage="turn",
        coverage_speedup=2.5,
        filter="none",
    )
    assert step.dropped().tolist() == [False, True]


# One prompt, two rollouts of two turns: rewards 1, 0 and 0, 2; the second's first was not judged.
TURNS = {
    "rewards": [1, 0, math.nan, 2],
    "prompts": ["a"] * 4,
    "rollouts": ["x", "x", "y", "y"],
    "turns": [0, 1, 0, 1],
}


@pytest.mark.parametrize(
    ("settings", "reasons", "returns"),
    [
        ({}, ["", "", "excluded", ""], [1, 0, 2, 2]),
        ({"void_turns": "mask"}, ["", "void", "excluded", ""], [1, 0, 2, 2]),
        ({"failed_turns": "mask"}, ["", "", "excluded", "failed"], [1, 0, 2, 2]),
        ({"unjudged": "zero"}, ["", "", "", ""], [1, 0, 2, 2]),
        ({"unjudged": "zero", "void_turns": "mask"}, ["", "void", "", ""], [1, 0, 2, 2]),
        ({"filter": "turns"}, ["", "", "excluded", ""], [1, 0, 2, 2]),
        (
            {"filter": "last_turn", "filter_deviation": 2},
            ["constant"] * 2 + ["excluded"] + ["constant"],
            [1, 0, 2, 2],
        ),
        ({"filter_rollouts": 3}, ["constant"] * 2 + ["excluded"] + ["constant"], [1, 0, 2, 2]),
    ],
)
def test_reasons(settings, reasons, returns):
    step = rl.step(**TURNS, **({"filter": "none"} | settings))
    found = ["".join(why for why in rl.names("drop") if step.dropped(why)[row]) for row in range(4)]
    assert found == reasons
    assert step.returns.tolist() == returns


def test_a_lazy_turn_pays_nothing_unless_it_is_asked():
    shares = [1, 0]
    options = {"coverages": shares, "correct": [1, 1], "coverage": "turn", "filter": "none"}
    rows = {"rewards": [1, 2], "prompts": [0, 0], "rollouts": [0, 0]}
    assert rl.step(**rows, **options).returns.tolist() == [1, 0]
    assert rl.step(**rows, **options, coverage_rewards="pay").returns.tolist() == [3, 2]


def test_rejected_turns_leave_their_group_or_stay():
    options = {"coverages": [1, 0, 1], "correct": [1] * 3, "coverage": "turn", "filter": "none"}
    options |= {"coverage_rewards": "pay"}
    assert rl.step([3, 1, 2], [0] * 3, **options).advantages.tolist() == [1, 0, -1]
    stay = rl.step([3, 1, 2], [0] * 3, **options, rejected_turns="stay")
    assert stay.advantages.tolist() == [1.5, 0, 0]


def test_constant_prompts_and_surplus():
    rewards = [1, 1, 0, 2, 5, 1]
    prompts = [9, 9, 4, 4, 7, 7]
    step = rl.step(rewards, prompts)
    assert step.dropped("constant").tolist() == [True, True, False, False, False, False]
    assert step.metrics["batch/num_groups"] == 3
    assert step.metrics["batch/usable_groups"] == 2
    assert step.metrics["batch/constant_groups"] == 1
    assert step.metrics["batch/few_groups"] == 0
    assert rl.step(rewards, prompts, wanted=1).dropped("surplus").sum() == 2
    values = rl.step([1, 2, 1, 2], [0] * 4, [0, 0, 1, 1], gamma=0.5, filter_values="rewards")
    assert values.dropped("constant").all()


def test_presets_with_a_plan():
    """drkernel_original divides by the planned rows, and needs half of the planned rollouts."""
    rows = {"rewards": [1, 0, 2], "prompts": [0] * 3, "mask": [[1], [1], [1]]}
    rows |= {"trained": [[-1.0]] * 3, "sampled": [[-1.0]] * 3, "correct": [1, 0, 1]}
    rows |= {"coverages": [1, 1, 1], "method": "drkernel_original"}
    assert rl.step(**rows).dropped("constant").all()
    step = rl.step(**rows, plan=(2, 4, 1))
    assert not step.dropped().any()
    close(np.concatenate(step.weights), 1 / (2 * 4 * 1) / 1000)


def outcomes(rows, bonus, penalty):
    expected = formulas.returns(rows, gamma=0.9)
    for rollout in rows.rollouts():
        judged = [row for row in rollout if rows.judged(row)]
        if judged:
            solved = any(rows.correct[row] for row in judged)
            expected[judged[-1]] += bonus if solved else -penalty
    return expected


def normalised(rows, values):
    found = values.copy()
    for rollout in rows.rollouts():
        judged = [row for row in rollout if rows.judged(row)]
        if judged and values[judged].std() > 1e-8:
            found[judged] = (values[judged] - values[judged].mean()) / values[judged].std()
    return found


@pytest.mark.parametrize("normalise", ["off", "on"])
def test_outcomes_and_normalised_returns(normalise):
    for seed in range(8):
        rows = formulas.draw(seed)
        step = rl.step(
            rows.reward,
            rows.prompt,
            rows.rollout,
            rows.turn,
            correct=rows.correct,
            gamma=0.9,
            success_bonus=0.7,
            failure_penalty=0.2,
            normalise_returns=normalise,
        )
        expected = outcomes(rows, 0.7, 0.2)
        expected = normalised(rows, expected) if normalise == "on" else expected
        judged = ~np.isnan(expected)
        close(step.returns[judged], expected[judged])


@pytest.mark.parametrize("known", [False, True])
def test_gates(known):
    """The likeliest token is known, or Σπ² stands for it."""
    hit = 0
    for seed in range(8):
        rows = formulas.draw(seed)
        top = [np.maximum(s, np.float32(-0.7)) for s in rows.sampled]
        step = rl.step(
            rows.reward,
            rows.prompt,
            rows.rollout,
            rows.turn,
            mask=rows.mask,
            trained=rows.trained,
            sampled=rows.sampled,
            **({"top": top} if known else {"collision": rows.collision}),
            gate_shift=0.05,
            gate_instability=1.0,
            filter="none",
        )
        for row in range(len(rows)):
            at = rows.counted(row)
            highest = (top if known else [np.log(c) for c in rows.collision])[row][at]
            shift = abs(rows.log_ratios([row]).mean()) if len(at) else 0
            below = (highest - rows.sampled[row][at]).max() if len(at) else 0
            expected = rows.judged(row) and bool(shift >= 0.05 or below >= 1.0)
            assert step.dropped("mismatch")[row] == expected
            hit += expected
    assert hit > 0


def test_certain_tokens_have_no_energy():
    """1 - 2π + Σπ² is 0 but for rounding: weights by it stay finite."""
    certain = np.full((4, 2), -1e-9, dtype=np.float32)
    step = rl.step(
        [1, 0, 2, 0],
        [0, 0, 1, 1],
        trained=certain,
        collision=np.full((4, 2), 0.9999999, dtype=np.float32),
        reweigh="both",
    )
    assert np.isfinite(step.advantages).all()


@pytest.mark.parametrize("kind", ["prompts", "batch", "both"])
def test_rows_without_tokens_weigh_nothing(kind):
    step = rl.step(
        [1, -1, 2, 0],
        [0, 0, 1, 1],
        mask=[[0, 0]] * 4,
        reweigh=kind,
        energy="tokens",
        estimator="return",
        filter="none",
    )
    assert np.isfinite(step.advantages).all()


def test_surplus_rollouts():
    """Of two that paid and two that did not, one of each stays: the cheapest ones."""
    rows = {
        "rewards": [2, 1, 0, 0],
        "prompts": [3] * 4,
        "mask": [[1] * 8, [1] * 2, [1] * 5, [1] * 6],
        "wanted_rollouts": 2,
        "filter": "none",
    }
    kept = ~rl.step(**rows, surplus="efficient").dropped("surplus")
    assert kept.tolist() == [False, True, True, False]
    for surplus in rl.names("surplus"):
        assert rl.step(**rows, surplus=surplus).dropped("surplus").sum() == 2
    drawn = {tuple(rl.step(**rows, surplus="random", step=n).drop.tolist()) for n in range(40)}
    assert len(drawn) == 6
