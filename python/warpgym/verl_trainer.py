"""verl's synchronous trainer with our rejection: MRS, PRS and every setting of `warpgym.rl`.

    export VERL_USE_EXTERNAL_MODULES=warpgym.verl_methods,warpgym.verl_trainer
    python3 -m verl.trainer.main_ppo trainer.v1.trainer_mode=warpgym_sync \\
        algorithm.adv_estimator=warpgym_trloo +algorithm.warpgym.method=drkernel …

verl's own rejection (`algorithm.rollout_correction`) sees whole conversations and no verdicts. Here
a step is what `warpgym train` computes, by turns: the mask becomes what is kept of it, and
importance weights are in the advantages. Leave `algorithm.rollout_correction` without `rollout_is`
and `rollout_rs`, and set `actor_rollout_ref.rollout.calculate_log_probs`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
import transfer_queue as tq
from omegaconf import DictConfig, open_dict
from tensordict import TensorDict
from verl.trainer.ppo.v1.trainer_base import register_trainer
from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync
from verl.workers.utils.padding import response_to_nested

from warpgym import rl
from warpgym.verl_methods import PREFIX, settings_of, turn_rewards, turns_of

FIELDS = ["uid", "response_mask", "rm_scores", "extra_fields"]
FIELDS += ["rollout_log_probs", "old_log_probs"]
FACTS = ("correct", "speedup", "coverage")


def train_step(
    mask: torch.Tensor,
    scores: torch.Tensor,
    groups: Sequence[Any],
    facts: Sequence[Sequence[Mapping[str, float]]],
    *,
    trained: torch.Tensor | None = None,
    sampled: torch.Tensor | None = None,
    **settings: Any,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, dict[str, float]]:
    """The mask of what is kept, advantages and returns of tokens, and metrics.

    `facts` are those of each row's turns (`warpgym.verl_agent`), log-probabilities those of the
    trained weights and of when the tokens were sampled: [rows, tokens]."""
    own = mask.detach().cpu().numpy() != 0
    turns = [*turns_of(own)]
    kept = torch.zeros(own.shape, dtype=mask.dtype)
    advantages, returns = torch.zeros(own.shape), torch.zeros(own.shape)
    if not turns:
        return kept, advantages, returns, {}
    rows = [row for row, _, _ in turns]
    known = {name: facts_of(name, turns, facts) for name in FACTS}

    def flat(values: torch.Tensor | None) -> np.ndarray | None:
        if values is None:
            return None
        array = values.detach().to("cpu", torch.float32).numpy()
        return np.concatenate([array[row, begin:end] for row, begin, end in turns])

    lengths = [end - begin for _, begin, end in turns]
    step = rl.step(
        turn_rewards(scores.detach().to("cpu", torch.float64).numpy(), turns),
        [str(groups[row]) for row in rows],
        rows,
        correct=np.array(known["correct"]) > 0,
        speedups=known["speedup"],
        coverages=known["coverage"],
        trained=flat(trained),
        sampled=flat(sampled),
        mask=np.ones(sum(lengths), dtype=bool),
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
        **({"aggregation": "seq-sum-no-norm"} | settings),
    )
    at = 0
    for i, (row, begin, end) in enumerate(turns):
        span = slice(at, at := at + end - begin)
        kept[row, begin:end] = torch.as_tensor(step.kept[span]).to(mask.dtype)
        advantages[row, begin:end] = torch.as_tensor(step.token_advantages[span]).float()
        returns[row, begin:end] = float(step.returns[i])
    metrics = {f"warpgym/{name}": value for name, value in step.metrics.items()}
    dropped = {why: float(step.dropped(why).mean()) for why in rl.names("drop")}
    return kept, advantages, returns, metrics | {f"warpgym/drop/{k}": v for k, v in dropped.items()}


def facts_of(
    name: str, turns: list[tuple[int, int, int]], facts: Sequence[Sequence[Mapping[str, float]]]
) -> list[float]:
    """NaN in rows that do not have as many facts as turns, as verl's padding."""
    counts = Counter(row for row, _, _ in turns)
    seen: Counter[int] = Counter()
    made = []
    for row, _, _ in turns:
        whole = len(facts[row]) == counts[row]
        made.append(float(facts[row][seen[row]][name]) if whole else math.nan)
        seen[row] += 1
    return made


@register_trainer("warpgym_sync")
class KernelTrainer(PPOTrainerSync):
    def __init__(self, config: DictConfig) -> None:
        with open_dict(config):
            config.trainer.v1.trainer_mode = "sync"  # whose settings and buffer are meant
        super().__init__(config)

    def _compute_advantage(self, batch: tq.KVBatchMeta, metrics: dict[str, Any]) -> tq.KVBatchMeta:
        algorithm = self.config.algorithm
        if algorithm.use_kl_in_reward:
            raise ValueError("algorithm.use_kl_in_reward: use algorithm.warpgym.kl instead")
        data = tq.kv_batch_get(
            keys=batch.keys, partition_id=batch.partition_id, select_fields=FIELDS
        )
        nested = data["response_mask"]
        groups = data.pop("uid").tolist()
        facts = [one.get("warpgym_turns") or [] for one in data.pop("extra_fields").tolist()]
        padded = data.to_padded_tensor()
        kept, advantages, returns, found = train_step(
            padded["response_mask"],
            padded["rm_scores"],
            groups,
            facts,
            trained=padded.get("old_log_probs", None),
            sampled=padded.get("rollout_log_probs", None),
            **step_settings(algorithm, getattr(self, "global_steps", 0)),
        )
        metrics.update(found)
        made = {"response_mask": kept, "advantages": advantages, "returns": returns}
        fields = {name: response_to_nested(value, nested) for name, value in made.items()}
        return tq.kv_batch_put(
            keys=batch.keys,
            partition_id=batch.partition_id,
            fields=TensorDict(fields, batch_size=len(batch)),
        )


def step_settings(algorithm: Any, step: int) -> dict[str, Any]:
    """Those of a method are its own unless `algorithm.warpgym` says more."""
    given = dict(algorithm.get("warpgym") or {})
    if "method" not in given:
        given = settings_of(algorithm)
    name = str(algorithm.adv_estimator)
    if name.startswith(PREFIX) and "estimator" not in given and "method" not in given:
        given["estimator"] = name.removeprefix(PREFIX)
    return given | {"step": int(step)}
