"""warpgym.rl (build/libwarpgym_rl.so): every name of the tables against formulas written out in
NumPy, rows and tokens in every layout, and bad input."""

import itertools
import math
import shutil
import subprocess
import sys
import threading

import numpy as np
import pytest
import rl_formulas as formulas
from support import CHECKOUT, PYTHON

sys.path.insert(0, str(CHECKOUT / "python"))

from warpgym import rl  # noqa: E402
from warpgym.rl import library  # noqa: E402

SEEDS = range(8)


@pytest.fixture(autouse=True)
def own_library(monkeypatch):
    monkeypatch.setenv("WARPGYM_RL_LIBRARY", str(CHECKOUT / "build" / library.NAME))


def arguments(rows):
    return {
        "rewards": rows.reward,
        "prompts": rows.prompt,
        "rollouts": rows.rollout,
        "turns": rows.turn,
    }


def tokens(rows):
    return {"mask": rows.mask, "trained": rows.trained, "sampled": rows.sampled}


def close(found, expected, tolerance=1e-6):
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def flat(lists):
    return np.concatenate([np.asarray(one) for one in lists])


# The tables


def test_each_name_has_a_formula():
    """A name that is new in C stands in Python by itself; here it needs a formula of its own."""
    assert set(rl.names("estimator")) == set(formulas.ESTIMATORS)
    assert set(rl.names("returns")) == set(formulas.RETURNS)
    assert set(rl.names("shaping")) == set(formulas.SHAPINGS)
    assert set(rl.names("bounds_level")) == {"none", *formulas.LEVELS}
    assert set(rl.names("aggregation")) == set(formulas.AGGREGATIONS)
    assert set(rl.names("loss")) == set(formulas.LOSSES)
    assert set(rl.names("reward")) == set(formulas.REWARDS)


def test_settings_are_those_of_the_page():
    page = (CHECKOUT / "docs/reference/settings.md").read_text(encoding="utf-8")
    rows = {
        cells[0].strip(" `"): cells
        for line in page.splitlines()
        if len(cells := line.strip("|").split("|")) > 3
    }
    for setting in rl.settings():
        cells = rows[f"train.{setting.name}"]
        assert cells[3].strip(" `") == setting.standard
        assert all(word in cells[4] for word in setting.words)
    assert {"method", "estimator", "bounds_upper", "loss", "kl"} <= {s.name for s in rl.settings()}


@pytest.mark.parametrize("shaping", formulas.SHAPINGS)
@pytest.mark.parametrize("rule", formulas.RETURNS)
def test_returns(rule, shaping):
    for seed, gamma in itertools.product(SEEDS, (0.4, 0.9)):
        rows = formulas.draw(seed)
        expected = formulas.returns(rows, rule, gamma, shaping)
        found = rl.returns(
            rows.reward, rows.rollout, rows.turn, rule=rule, gamma=gamma, shaping=shaping
        )
        judged = ~np.isnan(expected)
        close(found[judged], expected[judged], 1e-12)


def test_an_unjudged_turn_has_the_next_ones_return():
    found = rl.returns([1, math.nan, 2], [5, 5, 5], gamma=0.5)
    assert found.tolist() == [2, 2, 2]


WHOLE = {"filter": "none", "aggregation": "seq-sum-no-norm"}


@pytest.mark.parametrize("estimator", formulas.ESTIMATORS)
def test_advantages(estimator):
    """Of rows, and of tokens: a sum has no other weights."""
    for seed, gamma in itertools.product(SEEDS, (0.4, 1)):
        rows = formulas.draw(seed)
        critic = formulas.ESTIMATORS[estimator][2].__name__ == "_critic"
        given = {"collision": rows.collision} | ({"values": rows.value} if critic else {})
        if estimator == "remax":
            given["baselines"] = np.zeros(len(rows))
        step = rl.step(
            **arguments(rows), **tokens(rows), **given, estimator=estimator, gamma=gamma, **WHOLE
        )
        of_tokens, of_rows = formulas.advantages(rows, estimator, gamma)
        close(step.advantages, np.where(np.isnan(rows.reward), 0, of_rows))
        assert abs(step.advantages).max() > 0
        for row, found in enumerate(step.token_advantages):
            counts = rows.mask[row] & rows.judged(row)
            close(found, np.where(counts, of_tokens[row], 0))


def test_a_critic_is_discounted():
    rows = formulas.draw(4, unjudged=0)
    step = rl.step(
        **arguments(rows),
        **tokens(rows),
        values=rows.value,
        estimator="egae",
        token_gamma=0.9,
        token_lambda=0.7,
        **WHOLE,
    )
    everyone = list(range(len(rows)))
    own = formulas._critic(rows, everyone, formulas.returns(rows), 0.9, 0.7)
    flat_own = np.concatenate([one[mask] for one, mask in zip(own, rows.mask, strict=True)])
    expected = (flat_own - flat_own.mean()) / np.sqrt(flat_own.var(ddof=1) + 1e-8)
    found = flat(step.token_advantages)[flat(rows.mask)]
    close(found, expected)


@pytest.mark.parametrize("energy", ["scores", "tokens", "rows"])
@pytest.mark.parametrize("kind", ["prompts", "batch", "both"])
def test_reweighing(kind, energy):
    assert set(rl.names("reweigh")) == {"none", "prompts", "batch", "both"}
    assert set(rl.names("energy")) == {"scores", "tokens", "rows"}
    for seed in SEEDS:
        rows = formulas.draw(seed, unjudged=0)
        step = rl.step(
            **arguments(rows),
            **tokens(rows),
            collision=rows.collision,
            reweigh=kind,
            energy=energy,
            **WHOLE,
        )
        _, plain = formulas.advantages(rows, "trloo")
        close(step.advantages, formulas.reweighed(rows, plain, kind, energy), 1e-5)


def test_standardising():
    for seed in SEEDS:
        rows = formulas.draw(seed)
        step = rl.step(**arguments(rows), **tokens(rows), standardise="on", **WHOLE)
        _, plain = formulas.advantages(rows, "trloo")
        there = [row for row in range(len(rows)) if rows.judged(row) and rows.mask[row].any()]
        expected = (plain[there] - plain[there].mean()) / plain[there].std(ddof=1)
        close(step.advantages[there], expected)


def test_a_baseline_is_given():
    for estimator in ("return", "remax"):
        found = rl.advantages([3, 1, 4], [0] * 3, estimator=estimator, baselines=[1, 0.5, math.nan])
        assert found.tolist() == [2, 0.5, 0]


def test_a_singleton_has_its_return_or_zero():
    assert rl.advantages([3, 1], [0, 1]).tolist() == [3, 1]
    assert rl.advantages([3, 1], [0, 1], singleton="zero").tolist() == [0, 0]


BOUNDS = [
    {"bounds_lower": 0.95, "bounds_upper": 1.05},
    {"bounds_lower": 0.9, "bounds_upper": 1.1, "veto": 0.85},
    {"bounds_lower": 0.8, "bounds_upper": 1.3, "veto": 0.83, "veto_unit": "rollout"},
]


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("level", ["none", *formulas.LEVELS])
def test_mismatch(level, bounds):
    hit = 0
    for seed in SEEDS:
        rows = formulas.draw(seed)
        plain = (bounds["bounds_lower"], bounds["bounds_upper"], bounds.get("veto", 0))
        step = rl.step(
            **arguments(rows),
            **tokens(rows),
            correct=rows.correct,
            speedups=rows.speedup,
            bounds_level=level,
            filter="none",
            **bounds,
        )
        reasons, left = formulas.rejected(
            rows, level, *plain, whole_rollout=bounds.get("veto_unit") == "rollout"
        )
        for row, expected in enumerate(reasons):
            found = {why for why in rl.names("drop") if step.dropped(why)[row]}
            assert found == expected
            assert np.array_equal(step.kept[row], left[row] & (not expected))
        hit += sum(len(reason) for reason in reasons)
        if bounds.get("veto_unit") != "rollout":
            for name, value in formulas.mismatch_metrics(rows, level, plain).items():
                close(step.metrics[f"mismatch/{name}"], value, 1e-5)
        quality = {
            name.partition("/")[2]: value
            for name, value in step.metrics.items()
            if name.startswith("mismatch_quality/")
        }
        expected = formulas.quality_metrics(rows, reasons)
        assert quality.keys() == expected.keys()
        close([quality[name] for name in expected], list(expected.values()), 1e-9)
    assert hit > 0


def test_every_metric_has_a_formula():
    rows = formulas.draw(0)
    step = rl.step(**arguments(rows), **tokens(rows))
    own = {f"mismatch/{name}" for name in formulas.mismatch_metrics(rows, "token", (0.9, 1.1, 0.1))}
    assert {name for name in step.metrics if name.startswith("mismatch/")} == own
    assert {name.partition("/")[0] for name in step.metrics} == {
        "batch",
        "coverage",
        "mismatch",
        "mismatch_quality",
    }


@pytest.mark.parametrize("upper", [0, 1.05])
@pytest.mark.parametrize("level", ["token", "turn", "sequence"])
def test_importance(level, upper):
    for seed in SEEDS:
        rows = formulas.draw(seed)
        step = rl.step(**arguments(rows), **tokens(rows), importance=level, importance_upper=upper)
        close(flat(step.importance), flat(formulas.importance(rows, level, upper)))
        expected = formulas.mismatch_metrics(rows, "none", (0.5, 2, 0), (level, upper))
        for name, value in expected.items():
            close(step.metrics[f"mismatch/{name}"], value, 1e-5)


NORMALISATIONS = [
    {},
    {"scale": 1000.0},
    {"nominal_rows": 24, "nominal_tokens": 7},
    {"pad_rows": 8},
    {"pad_rows": 64},
]


@pytest.mark.parametrize("options", NORMALISATIONS)
@pytest.mark.parametrize("aggregation", formulas.AGGREGATIONS)
def test_weights_of_tokens(aggregation, options):
    for seed in SEEDS:
        rows = formulas.draw(seed)
        found = rl.token_weights(rows.mask, aggregation=aggregation, **options)
        close(flat(found), flat(formulas.token_weights(rows.mask, aggregation, **options)), 1e-12)


def test_advantages_of_tokens():
    """A w ρ of what is left, and the penalty."""
    for seed in SEEDS:
        rows = formulas.draw(seed)
        step = rl.step(
            **arguments(rows),
            **tokens(rows),
            base=rows.base,
            importance="turn",
            kl=0.3,
            kl_discount=0.9,
            aggregation="token-mean",
        )
        kept = [mask & (not drop) for mask, drop in zip(rows.mask, step.drop, strict=True)]
        weight = formulas.token_weights(kept, "token-mean")
        ratio = formulas.importance(rows, "turn", 0)
        off = [s.astype(float) - b for s, b in zip(rows.sampled, rows.base, strict=True)]
        mean = np.concatenate([o[k] for o, k in zip(off, kept, strict=True)]).mean()
        close(step.kl, mean)
        for row, mask in enumerate(kept):
            at = np.flatnonzero(mask)
            later = mean - off[row][at]
            behind = [
                sum(0.9 ** (j - i) * later[j] for j in range(i, len(at))) for i in range(len(at))
            ]
            expected = np.zeros(len(mask))
            expected[at] = weight[row][at] * (
                step.advantages[row] * ratio[row][at] + 0.3 * np.array(behind)
            )
            close(step.token_advantages[row], expected)


# Losses and rewards


@pytest.mark.parametrize(
    ("loss", "options"),
    [(name, {}) for name in formulas.LOSSES]
    + [
        ("ppo", {"clip_low": 0.9, "clip_high": 1.05}),
        ("ppo", {"dual_clip": 1.3}),
        ("cispo", {"clip_low": 0.95, "clip_high": 1.02}),
        ("dro", {"dro_beta": 0.4}),
    ],
)
def test_losses(loss, options):
    random = np.random.default_rng(6)
    sampled = -3 * random.random((5, 40), dtype=np.float32)
    trained = sampled + 0.8 * random.random((5, 40), dtype=np.float32) - 0.4
    advantage = random.standard_normal((5, 40)).astype(np.float32)
    weight = random.random((5, 40), dtype=np.float32)
    entropy = random.random((5, 40), dtype=np.float32)
    arrays = [a.astype(float).ravel() for a in (trained, sampled, advantage, weight)]
    expected = [formulas.LOSSES[loss](*one, options) for one in zip(*arrays, strict=True)]
    found = rl.loss(trained, sampled, advantage, weights=weight, loss=loss, **options)
    close(found.value, sum(value for value, _ in expected), 1e-5)
    assert found.gradient.shape == (5, 40)
    close(found.gradient.ravel(), [slope for _, slope in expected], 1e-5)
    assert found.sums["tokens"] == 200
    close(found.sums["kl"], (sampled - trained).sum(dtype=float), 1e-5)
    close(found.sums["ratio"], np.exp(arrays[0] - arrays[1]).sum(), 1e-5)
    bonus = rl.loss(
        trained,
        sampled,
        advantage,
        weights=weight,
        entropies=entropy,
        loss=loss,
        entropy=0.1,
        **options,
    )
    close(bonus.value, found.value - 0.1 * (weight * entropy).sum(dtype=float), 1e-5)


def some_facts(seed):
    random = np.random.default_rng(seed)
    cheated, completed, compiled, correct = random.random(4) < (0.1, 0.9, 0.8, 0.6)
    correct = bool(correct and compiled and completed and not cheated)
    timed = correct and random.random() < 0.9
    speedup = 0.5 + 3.5 * random.random() if timed else math.nan
    return {
        "correct": correct,
        "compiled": bool(compiled),
        "completed": bool(completed),
        "cheated": bool(cheated),
        "format_ok": bool(correct or random.random() < 0.9),
        "speedup": speedup,
        "speedup_low": speedup - 0.4 * random.random(),
        "coverage": random.random() if correct and random.random() < 0.8 else math.nan,
        "tests_total": 5,
        "tests_passed": 5 if correct else int(random.integers(0, 5)),
    }


@pytest.mark.parametrize("preset", formulas.REWARDS)
def test_rewards(preset):
    subjects = [some_facts(seed) for seed in range(300)]
    found = rl.rewards(subjects, preset)
    close(found, [formulas.REWARDS[preset](facts) for facts in subjects], 1e-9)
    assert len(set(found.round(9))) > 2


def test_fields_of_a_reward():
    facts = {"correct": True, "speedup": 4}
    assert rl.reward(facts, "drkernel").total == 2
    assert rl.reward(facts, "drkernel", speed_upper=2).total == 1.5
    assert rl.reward(facts, "kevin", gameable_factor=0, correctness_weight=1).total == 5
    assert rl.reward_fields()["speed_upper"] == 3
    assert math.isnan(rl.rewards([{"excluded": True}])[0])
    assert "speedup_low" in rl.facts()


def test_a_verdict_pays_as_in_a_run():
    from verdicts import whole

    verdict = whole({"status": "passed", "compiled": True, "correct": True})
    assert rl.reward(verdict, "kevin").total == 0.3
    broken = whole({"status": "infrastructure_error", "compiled": False, "correct": False})
    assert rl.reward(broken, "kevin").excluded
    assert rl.reward({"verdict": None, "format_ok": True}, "staged1").total == 0.3
    with pytest.raises(ValueError, match="'id' is missing"):
        rl.reward({"schema": 1, "status": "passed"})


# Layouts


def padded(lists, fill):
    width = max(len(row) for row in lists) + 2
    found = np.full((len(lists), width), fill, dtype=np.asarray(lists[0]).dtype)
    for row, values in enumerate(lists):
        found[row, : len(values)] = values
    return found


DRKERNEL = {
    "method": "drkernel",
    "bounds_lower": 0.9,
    "bounds_upper": 1.1,
    "gamma": 0.9,
    "filter": "none",
}


def layouts(rows):
    lists = {name: getattr(rows, name) for name in ("mask", "trained", "sampled")}
    offsets = np.cumsum([0] + [len(row) for row in rows.mask])
    fills = {"mask": False, "trained": math.nan, "sampled": math.nan}
    return {
        "lists": lists,
        "flat": {name: flat(one) for name, one in lists.items()} | {"offsets": offsets},
        "padded": {name: padded(one, fills[name]) for name, one in lists.items()},
    }


def test_layouts_agree():
    rows = formulas.draw(1)
    more = {"correct": rows.correct, "coverages": rows.coverage} | DRKERNEL
    steps = {
        name: rl.step(**arguments(rows), **given, **more) for name, given in layouts(rows).items()
    }
    assert steps["padded"].weights.shape == steps["padded"].kept.shape
    assert flat(steps["lists"].kept).any()
    for name in ("kept", "weights", "importance", "token_advantages"):
        listed = getattr(steps["lists"], name)
        assert np.array_equal(flat(listed), getattr(steps["flat"], name))
        wide = getattr(steps["padded"], name)
        assert np.array_equal(
            flat(listed), np.concatenate([wide[row, : len(one)] for row, one in enumerate(listed)])
        )
    assert steps["flat"].metrics == steps["padded"].metrics


def test_any_order():
    rows = formulas.draw(2)
    order = np.random.default_rng(0).permutation(len(rows))
    more = {"correct": rows.correct, "coverages": rows.coverage}
    given = layouts(rows)["padded"]
    whole = rl.step(**arguments(rows), **more, **given, **DRKERNEL)
    moved = rl.step(
        **{name: np.array(value)[order] for name, value in (arguments(rows) | more).items()},
        **{name: value[order] for name, value in given.items()},
        **DRKERNEL,
    )
    close(moved.advantages, whole.advantages[order], 1e-12)
    close(moved.token_advantages, whole.token_advantages[order], 1e-12)
    assert np.array_equal(moved.drop, whole.drop[order])


def test_ids_may_be_texts_and_large():
    first = rl.advantages([1, 0, 4], ["u-1", "u-1", "u-2"])
    assert first.tolist() == [1, -1, 4]
    assert rl.advantages([1, 0, 4], np.array([-5, -5, 2**60])).tolist() == first.tolist()


def test_arrays_are_not_copied():
    """A row's log-probability is read where it lies: what padding holds is never looked at."""
    from warpgym.rl.arrays import Layout

    wide = np.zeros((4, 8), dtype=np.float32)
    assert Layout(4, None).floats(wide, "trained") is wide
    mask = np.ones((4, 8), dtype=bool)
    assert np.shares_memory(Layout(4, None).flags(mask, "mask"), mask)


def test_tensors_come_and_go():
    torch = pytest.importorskip("torch")
    rows = formulas.draw(3)
    given = layouts(rows)["padded"]
    more = {"correct": rows.correct, "coverages": rows.coverage} | DRKERNEL
    plain = rl.step(**arguments(rows), **given, **more)
    tensors = {name: torch.from_numpy(value) for name, value in given.items()}
    tensors["trained"].requires_grad_()
    step = rl.step(**arguments(rows) | {"rewards": torch.tensor(rows.reward)}, **tensors, **more)
    assert isinstance(step.token_advantages, torch.Tensor)
    assert torch.equal(step.token_advantages, torch.from_numpy(plain.token_advantages))
    assert step.dropped("mismatch").tolist() == plain.dropped("mismatch").tolist()
    half = rl.step(
        [1.0, 0],
        [0, 0],
        mask=torch.ones(2, 3, dtype=torch.int64),
        trained=torch.zeros(2, 3, dtype=torch.bfloat16),
    )
    close(half.weights, 1 / 6)
    loss = rl.loss(torch.zeros(3), torch.zeros(3), torch.ones(3))
    assert loss.value == -3
    assert loss.gradient.tolist() == [-1, -1, -1]


def test_torch_is_not_loaded():
    code = (
        "import sys; from warpgym import rl; rl.step([1, 0], [0, 0]); print('torch' in sys.modules)"
    )
    done = subprocess.run(
        [PYTHON, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={
            "PYTHONPATH": str(CHECKOUT / "python"),
            "WARPGYM_RL_LIBRARY": str(CHECKOUT / "build" / library.NAME),
        },
        timeout=60,
    )
    assert done.stdout.strip() == "False"


def test_threads_agree():
    rows = formulas.draw(5, prompts=6, rollouts=8)
    expected = rl.advantages(**arguments(rows))
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(rl.advantages(**arguments(rows))))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert all(np.array_equal(one, expected) for one in found)


# Bad input

TWO = {"rewards": [1, 0], "prompts": [0, 0]}
WIDE = np.zeros((2, 3), dtype=np.float32)
HOLE = np.array([[0, 0, math.nan], [0, 0, 0]], dtype=np.float32)


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"prompts": [0, 0, 0]}, "prompts has 3 rows, but rewards has 2"),
        ({"prompts": [0.5, 1]}, "prompts must hold integers or texts, not float64"),
        ({"prompts": None}, "a step needs the reward and the prompt of each row"),
        ({"rewards": [[1, 0], [0, 0]]}, r"rewards has the shape \[2, 2\]; it must have one value"),
        ({"rewards": ["a", "b"]}, "rewards holds something that is no number"),
        ({"rewards": [1, math.inf]}, "row 1: reward is inf"),
        ({"rewards": []}, "has 2 rows, but rewards has 0"),
        ({"rollouts": [0, 0], "turns": [0, 0]}, "rows 0 and 1 are both turn 0 of rollout 0"),
        ({"rollouts": [0, 0], "turns": [0, -1]}, "turns must be from 0"),
        ({"rollouts": [0, 0], "turns": ["a", "b"]}, "turns must hold integers, not"),
        ({"turns": [0, 1]}, "turns are given, but not which rollout"),
        ({"correct": [0, 2]}, "correct must hold true and false, or 1 and 0"),
        ({"coverages": [0, 1.5]}, "row 1: coverage is 1.5"),
        ({"trained": HOLE}, "row 0, token 2: trained is nan"),
        ({"collision": WIDE + 2}, "row 0, token 0: collision is 2; a sum of squared probabilities"),
        ({"trained": WIDE, "sampled": WIDE[:, :2]}, r"sampled has the shape \[2, 2\], but trained"),
        ({"trained": WIDE[:1]}, "trained has 1 rows, but rewards has 2"),
        ({"trained": WIDE.ravel()}, "give .rows, tokens., a list of rows, or one flat array"),
        ({"trained": WIDE.ravel(), "offsets": [0, 6]}, "offsets has 2 values; 2 rows need 3"),
        (
            {"trained": WIDE.ravel(), "offsets": [0, 7, 6]},
            "row 1: its tokens end before they begin",
        ),
        ({"trained": [[1.0], [2.0, 3.0], []]}, "trained has other numbers of tokens"),
        ({"trained": [["a"], ["b"]]}, "trained holds something that is no number"),
        ({"mask": [[1, 0], [1]], "trained": [[1.0], [1.0]]}, "mask has other numbers of tokens"),
        ({"mask": [[3, 0], [1]]}, "mask must hold true and false"),
        ({"baselines": [0, 0]}, "a baseline is given, but the estimator 'trloo'"),
        ({"estimator": "remax"}, "remax compares with 'baseline', which is not given"),
        ({"bounds_level": "turn"}, "compare 'trained', which is not given"),
        ({"estimator": "trlo"}, "did you mean 'trloo'"),
        ({"estimater": "trloo"}, "unknown setting 'train.estimater'"),
        ({"scale": "x"}, "train.scale: 'x' is not a number"),
        ({"scale": math.nan}, "train.scale: 'nan' is not a number"),
        ({"scale": True}, "scale is True; give a word or a number"),
        ({"veto": 7}, "train.veto: '7' is outside 0 to 1"),
        ({"gamma": -1}, "gamma must be from 0 to 1"),
        ({"seed": -1}, "seed is -1"),
        ({"plan": (1, 0, 0)}, "give all three, or none"),
    ],
)
def test_bad_input(more, sentence):
    with pytest.raises(ValueError, match=sentence) as caught:
        rl.step(**(TWO | more))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: rl.names("estimators"), "no list of names called 'estimators'"),
        (lambda: rl.reward({}, "kevn"), "did you mean 'kevin'"),
        (lambda: rl.reward({}, "kevin", speed=1), "speed"),
        (lambda: rl.reward({}, 3), "a reward's preset is a name"),
        (lambda: rl.reward({"correct": {1}}), "the verdict is no JSON"),
        (lambda: rl.rewards([{}, {"correct": 2}]), "row 1: 'correct'"),
        (lambda: rl.reward({}, coverage="all"), "unknown measure of coverage 'all'"),
        (lambda: rl.loss([0.0], [0.0, 1.0], [1.0]), r"sampled has the shape \[2\]"),
        (lambda: rl.loss([0.0], [math.nan], [1.0]), "token 0: trained is 0, sampled nan"),
        (lambda: rl.loss([0.0], [0.0], [1.0], loss="ppo2"), "did you mean 'ppo'"),
        (lambda: rl.loss([0.0], [0.0], [1.0], loss="dro", clip_low=0.5), "has no clip_low"),
        (lambda: rl.step([1], [0]).dropped("lazy"), "'lazy' is no reason"),
    ],
)
def test_other_bad_input(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


def test_a_missing_library_says_where_it_was_looked_for(monkeypatch, tmp_path):
    monkeypatch.setenv("WARPGYM_RL_LIBRARY", str(tmp_path / "none.so"))
    library.load.cache_clear()
    with pytest.raises(ImportError, match=f"not in {tmp_path}: run `make`"):
        library.load()
    library.load.cache_clear()


def test_the_wheel_has_the_library(tmp_path):
    """As pip installs it where `make` has run; nothing but NumPy is needed beside it."""
    source, target = tmp_path / "python", tmp_path / "installed"
    leave = shutil.ignore_patterns("__pycache__", "build", "*.egg-info")
    shutil.copytree(CHECKOUT / "python", source, ignore=leave)
    pip = [str(PYTHON), "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
    options = ["--no-build-isolation", "--no-index", "--no-deps", "--target", str(target)]
    subprocess.run([*pip, *options, str(source)], check=True, timeout=300)
    code = """
from warpgym import rl
assert rl.step([2, 0], [0, 0]).advantages.tolist() == [2, -2]
assert rl.reward({"correct": True}, "kevin").total == 0.3
print(*sorted({line.split()[-1] for line in open("/proc/self/maps") if "warpgym/rl" in line}))
"""
    done = subprocess.run(
        [PYTHON, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={"PYTHONPATH": str(target)},
        timeout=60,
    )
    here = target / "warpgym" / "rl"
    assert done.stdout.split() == [str(here / "libjansson.so.4"), str(here / library.NAME)]
