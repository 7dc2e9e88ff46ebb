"""Our advantage estimators in verl, as `algorithm.adv_estimator=warpgym_trloo` and the like.

    export VERL_USE_EXTERNAL_MODULES=warpgym.verl_methods

Each estimator of `warpgym.rl` has its name there, behind `warpgym_`. A row's turns are the runs of
ones in its mask. A turn's reward is what stands at its tokens and behind it, to the next turn. A
row whose mask is 0 is in no group.

Settings of `train.*` may stand in `algorithm.warpgym` (`+algorithm.warpgym.returns=max`); `gamma`
is verl's. verl passes log-probabilities to its own optimal baselines alone: ours
need `+algorithm.warpgym.energy=tokens` (or `rows`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from verl.trainer.ppo.core_algos import register_adv_est

from warpgym import rl

PREFIX = "warpgym_"
WEIGHED = frozenset(
    name for name in rl.names("estimator") if "optimal_baseline" in name or "score_baseline" in name
)


def turns_of(mask: np.ndarray) -> Iterator[tuple[int, int, int]]:
    """(row, begin, end) of each run of ones, in order."""
    padded = np.pad(mask.astype(np.int8), ((0, 0), (1, 1)))
    change = np.diff(padded, axis=1)
    for row in range(len(mask)):
        begins, ends = np.flatnonzero(change[row] == 1), np.flatnonzero(change[row] == -1)
        for begin, end in zip(begins, ends, strict=True):
            yield row, int(begin), int(end)


def turn_rewards(rewards: np.ndarray, turns: list[tuple[int, int, int]]) -> list[float]:
    """What stands in front of a row's first turn counts as that turn's."""
    made = []
    for i, (row, begin, _) in enumerate(turns):
        first = i == 0 or turns[i - 1][0] != row
        last = i + 1 == len(turns) or turns[i + 1][0] != row
        end = rewards.shape[1] if last else turns[i + 1][1]
        made.append(float(rewards[row, 0 if first else begin : end].sum()))
    return made


def settings_of(config: Any) -> dict[str, Any]:
    """`gamma` and `algorithm.warpgym`; nothing is filtered unless they say so."""
    if config is None:
        return {"filter": "none"}
    given = dict(config.get("warpgym") or {})
    return {"filter": "none", "gamma": float(config.get("gamma", 1.0))} | given


def estimate(  # noqa: PLR0917 - the signature is verl's
    name: str,
    token_level_rewards: torch.Tensor,
    response_mask: torch.Tensor,
    config: Any = None,
    index: Any = None,
    reward_baselines: torch.Tensor | None = None,
    **others: Any,
) -> tuple[torch.Tensor, torch.Tensor]:
    """As verl calls an estimator: advantages and returns of tokens."""
    del others
    device, dtype = token_level_rewards.device, torch.float32
    mask = response_mask.detach().cpu().numpy() != 0
    settings = settings_of(config)
    if name in WEIGHED and not settings.keys() & {"energy", "method"}:
        raise ValueError(
            f"{PREFIX}{name} weighs by log-probabilities, which verl does not pass to it: "
            "set +algorithm.warpgym.energy=tokens, or rows"
        )
    rewards = token_level_rewards.detach().to("cpu", torch.float64).numpy()
    turns = [*turns_of(mask)]
    advantages = torch.zeros(mask.shape, dtype=dtype)
    returns = torch.zeros(mask.shape, dtype=dtype)
    if turns:
        groups = np.arange(len(mask)) if index is None else np.asarray(index)
        rows = [row for row, _, _ in turns]
        more: Mapping[str, Any] = {}
        if reward_baselines is not None:
            more = {"baselines": reward_baselines.detach().cpu().numpy().ravel()[rows]}
        offsets = np.cumsum([0] + [end - begin for _, begin, end in turns])
        own = {"estimator": name, "aggregation": "seq-sum-no-norm"}  # verl aggregates
        step = rl.step(
            turn_rewards(rewards, turns),
            [str(groups[row]) for row in rows],
            rows,
            mask=np.ones(offsets[-1], dtype=bool),
            offsets=offsets,
            **(more | settings | own),
        )
        for i, (row, begin, end) in enumerate(turns):
            span = slice(offsets[i], offsets[i + 1])
            advantages[row, begin:end] = torch.as_tensor(step.token_advantages[span]).float()
            returns[row, begin:end] = float(step.returns[i])
    return advantages.to(device), returns.to(device)


def register_all() -> None:
    for name in rl.names("estimator"):

        def own(*given: Any, _name: str = name, **more: Any) -> Any:
            return estimate(_name, *given, **more)

        register_adv_est(PREFIX + name)(own)


register_all()
