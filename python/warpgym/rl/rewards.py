"""Rewards: presets of docs/reference/rewards.md, of verdicts or of what is known without one."""

import ctypes
import json
import math
from dataclasses import dataclass

import numpy as np

from . import arrays, library


@dataclass(frozen=True)
class Reward:
    """`total`, and its parts before any weight or gate. NaN if it is excluded: the infrastructure
    failed, and the candidate is not to blame."""

    excluded: bool
    total: float
    format: float
    compile: float
    correctness: float
    speed: float
    length: float
    thinking: float
    coverage: float


def _text(value, what):
    def plain(number):
        item = getattr(number, "item", None)
        if item is None:
            raise TypeError(type(number).__name__)
        return item()

    def known(one):
        """NaN is "unknown", which JSON calls null."""
        if isinstance(one, dict):
            return {name: known(inner) for name, inner in one.items()}
        return None if isinstance(one, float) and math.isnan(one) else one

    try:
        return json.dumps(known(value), default=plain, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what} is no JSON: {error}") from error


def _config(preset, fields):
    if not isinstance(preset, str):
        raise ValueError(f"a reward's preset is a name, not {preset!r}")
    return _text({"preset": preset} | fields, "the reward") if fields else preset.encode()


def reward(subject, preset="warpgym", *, coverage="time", **fields):
    """The reward of a verdict (a dictionary, docs/reference/verdict.md), of {"verdict": …} with
    what is known of its answer, or of facts ({"correct": True, "speedup": 1.7}; names: facts()).

    fields: what differs from the preset, by the names of reward_fields(): speed_upper=2."""
    parts, error = library.RewardParts(), library.Error()
    status = library.load().warpgym_rl_reward(
        _config(preset, fields), coverage.encode(), _text(subject, "the verdict"), parts, error
    )
    library.check(status, error)
    values = {name: getattr(parts, name) for name, *_ in library.RewardParts._fields_}
    return Reward(**(values | {"excluded": bool(parts.excluded)}))


def rewards(subjects, preset="warpgym", *, coverage="time", **fields):
    """[rows] of doubles, NaN where nothing was judged: what `step` takes."""
    totals = []
    for row, subject in enumerate(subjects):
        try:
            totals.append(reward(subject, preset, coverage=coverage, **fields).total)
        except ValueError as error:
            raise ValueError(f"row {row}: {error}") from error
    return np.array(totals, dtype=np.float64)


@dataclass(frozen=True)
class Loss:
    value: float
    gradient: object  # [tokens] d value / d trained
    sums: dict[str, float]  # tokens that count, clipped ones, Σ ratio, Σ (q - p), Σ entropy


def _flat(value, name, like):
    if value is None:
        return None
    array = arrays.to_numpy(value, name)
    if array.dtype.kind not in "iuf":
        raise ValueError(f"{name} holds something that is no number")
    if like is not None and array.shape != like:
        raise ValueError(f"{name} has the shape {list(array.shape)}, but trained has {list(like)}")
    return np.ascontiguousarray(array, dtype=np.float32)


def loss(trained, sampled, advantages, *, weights=None, entropies=None, **settings):
    """A policy's loss, a plain sum over tokens: loss="ppo", clip_low=0.8, … Arrays of one shape;
    advantages are a Step's token_advantages. In PyTorch, (trained * loss.gradient).sum() has the
    loss's gradient. The setting entropy
    needs `entropies`, of each token's distribution."""
    give = arrays.Giver(trained, sampled, advantages)
    first = _flat(trained, "trained", None)
    shape = first.shape
    named = {"trained": first}
    for name, value in {
        "sampled": sampled,
        "advantage": advantages,
        "weight": weights,
        "entropy": entropies,
    }.items():
        named[name] = _flat(value, name, shape)
    gradient = np.zeros(shape, dtype=np.float32)
    tokens = library.Tokens(
        tokens=first.size,
        **{name: arrays.pointer(array, library.Floats) for name, array in named.items()},
    )
    found, put = library.metrics()
    error = library.Error()
    status = library.load().warpgym_rl_loss(
        library.assignments(settings),
        ctypes.byref(tokens),
        arrays.pointer(gradient, library.Floats),
        put,
        None,
        error,
    )
    library.check(status, error)
    return Loss(found.pop("loss"), give(gradient), found)
