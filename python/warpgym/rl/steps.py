"""A step of a trainer: rewards, groups, log-probabilities in; masks, weights, advantages out."""

import ctypes
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import arrays, library
from .arrays import pointer
from .library import Bytes, Doubles, Floats, Numbers


@dataclass
class Step:
    """Arrays of rows, and of tokens laid out as the arguments were; tensors if any argument was."""

    returns: Any  # [rows] G
    advantages: Any  # [rows] A, the mean of its tokens; 0 where a row is dropped
    drop: Any  # [rows] bits of names("drop"); 0: it is trained on
    kept: Any  # [tokens] bool: trained on
    importance: Any  # [tokens] ρ; 1 without the setting importance
    weights: Any  # [tokens] w: what a token counts in a mean
    token_advantages: Any  # [tokens] A w ρ, and the penalty: for a loss that is a plain sum
    kl: float  # mean log π_sampled - log π_base; NaN without a penalty
    metrics: dict[str, float] = field(repr=False)

    def dropped(self, why=None):
        """[rows] of booleans: not trained on; for one reason of names("drop")."""
        if why is None:
            return self.drop != 0
        reasons = library.names("drop")
        if why not in reasons:
            raise ValueError(f"{why!r} is no reason; there are {', '.join(reasons)}")
        return (self.drop >> reasons.index(why)) % 2 == 1


def _options(settings, gamma, *, seed, step, plan, wanted, wanted_rollouts):
    prompts, samples, turns = plan or (0, 0, 0)
    counts = {"seed": seed, "step": step, "wanted": wanted, "wanted_rollouts": wanted_rollouts}
    for name, value in counts.items():
        if not 0 <= value < 2**64:
            raise ValueError(f"{name} is {value}; it must be from 0 to 2**64 - 1")
    return library.Options(
        ctypes.cast(library.assignments(settings), ctypes.POINTER(ctypes.c_char_p)),
        math.nan if gamma is None else gamma,
        seed,
        step,
        prompts,
        samples,
        turns,
        wanted,
        wanted_rollouts,
    )


def step(
    rewards,
    prompts,
    rollouts=None,
    turns=None,
    *,
    correct=None,
    speedups=None,
    coverages=None,
    baselines=None,
    trained=None,
    sampled=None,
    base=None,
    collision=None,
    values=None,
    top=None,
    mask=None,
    offsets=None,
    gamma=None,
    seed=0,
    step=0,
    plan=None,
    wanted=0,
    wanted_rollouts=0,
    **settings,
):
    """Masks, returns, advantages and weights of tokens, by settings of train.* without "train.":
    method="drkernel", estimator="grpo", … (docs/guide/rl-library.md)."""
    given = (rewards, trained, sampled, base, collision, values, top, mask)
    give = arrays.Giver(*given)
    reward = arrays.row_numbers(rewards, "rewards")
    if reward is None or prompts is None:
        raise ValueError("a step needs the reward and the prompt of each row")
    count = len(reward)
    layout = arrays.Layout(count, offsets)
    prompt = arrays.row_ids(prompts, "prompts", count)
    rollout = arrays.row_ids(rollouts, "rollouts", count)
    turn = arrays.row_ids(turns, "turns", count, any_kind=False)
    flags = arrays.row_flags(correct, "correct", count)
    numbers = {
        "speedup": arrays.row_numbers(speedups, "speedups", count),
        "coverage": arrays.row_numbers(coverages, "coverages", count),
        "baseline": arrays.row_numbers(baselines, "baselines", count),
    }
    floats = {
        name: layout.floats(value, name)
        for name, value in {
            "trained": trained,
            "sampled": sampled,
            "base": base,
            "collision": collision,
            "value": values,
            "top": top,
        }.items()
    }
    masks = layout.flags(mask, "mask")
    rows = library.Rows(
        rows=count,
        tokens=layout.tokens,
        prompt=pointer(prompt, Numbers),
        rollout=pointer(rollout, Numbers),
        turn=pointer(turn, Numbers),
        reward=pointer(reward, Doubles),
        correct=pointer(flags, Bytes),
        offset=pointer(layout.offsets if layout.shape else None, Numbers),
        mask=pointer(masks, Bytes),
        **{name: pointer(array, Doubles) for name, array in numbers.items()},
        **{name: pointer(array, Floats) for name, array in floats.items()},
    )
    options = _options(
        settings,
        gamma,
        seed=seed,
        step=step,
        plan=plan,
        wanted=wanted,
        wanted_rollouts=wanted_rollouts,
    )
    return _compute(rows, options, layout, give)


def _compute(rows, options, layout, give):
    found, put = library.metrics()
    by_row = {name: np.zeros(layout.rows) for name in ("returns", "advantage")}
    by_token = {
        name: layout.empty(np.float64) for name in ("importance", "weight", "token_advantage")
    }
    drop = np.zeros(layout.rows, dtype=np.uint32)
    kept = layout.empty(np.uint8)
    result = library.Result(
        drop=pointer(drop, ctypes.POINTER(ctypes.c_uint32)),
        kept=pointer(kept, Bytes),
        put=put,
        **{name: pointer(array, Doubles) for name, array in (by_row | by_token).items()},
    )
    error = library.Error()
    library.check(library.load().warpgym_rl_step(rows, options, result, error), error)
    return Step(
        give(by_row["returns"]),
        give(by_row["advantage"]),
        give(drop),
        layout.split(kept.view(np.bool_), give),
        layout.split(by_token["importance"], give),
        layout.split(by_token["weight"], give),
        layout.split(by_token["token_advantage"], give),
        result.kl,
        found,
    )


def returns(rewards, rollouts=None, turns=None, *, rule="sum", gamma=None, shaping="none"):
    """[rows] G of each turn; a reward of NaN (not judged) is skipped."""
    prompts = np.zeros(len(rewards), dtype=np.int64)
    return step(
        rewards,
        prompts,
        rollouts,
        turns,
        gamma=gamma,
        returns=rule,
        shaping=shaping,
        estimator="return",
        filter="none",
    ).returns


def advantages(rewards, prompts, rollouts=None, turns=None, *, estimator="trloo", **more):
    """[rows] A of each turn: returns, then the estimator; no row is dropped, unless a setting says
    so. `more`: as of `step`."""
    settings = {"filter": "none"} | more
    return step(rewards, prompts, rollouts, turns, estimator=estimator, **settings).advantages


def mismatch(trained, sampled, rollouts=None, turns=None, *, mask=None, offsets=None, **settings):
    """A Step in which nothing but sampler and trainer is compared: kept, drop, importance and
    metrics, by bounds_level, bounds_lower, bounds_upper, veto, veto_unit, importance,
    importance_upper."""
    count = len(trained) if offsets is None else len(offsets) - 1
    zeros = np.zeros(count, dtype=np.int64)
    own = {"estimator": "return", "filter": "none"}
    return step(
        zeros,
        np.arange(count) if rollouts is None else _alike(rollouts),
        rollouts,
        turns,
        trained=trained,
        sampled=sampled,
        mask=mask,
        offsets=offsets,
        **(own | settings),
    )


def _alike(rollouts):
    """A prompt for each rollout."""
    return arrays.row_ids(rollouts, "rollouts", None)


def token_weights(mask, *, offsets=None, **settings):
    """[tokens] w of each token that counts, by aggregation, scale, nominal_rows, nominal_tokens and
    pad_rows: a loss is Σ w times its token's term."""
    count = len(mask) if offsets is None else len(offsets) - 1
    rows = np.zeros(count, dtype=np.int64)
    own = {"estimator": "return", "filter": "none"}
    return step(rows, rows, mask=mask, offsets=offsets, **(own | settings)).weights
