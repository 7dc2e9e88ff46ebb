"""SkyRL's generator, which excludes what the judge could not judge.

    class Experiment(BasePPOExp):
        def get_generator(self, cfg, tokenizer, inference_engine_client):
            return KernelGenerator(cfg.generator, cfg.environment.skyrl_gym, …)

SkyRL ends a run where an environment raises. This generator plays an episode again whose judge is
unreachable, or one of whose answers could not be judged. An episode that fails `attempts` times is
excluded as SkyRL excludes overlong answers: its loss mask is 0. Its reward is the mean of its
group's others, so that no baseline moves. SkyRL's metrics are computed without it, and have
`environment/excluded`.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from typing import Any

from skyrl.train.generators.base import GeneratorInput, GeneratorOutput
from skyrl.train.generators.skyrl_gym_generator import (
    SkyRLGymGenerator,
    StepWiseOutput,
    TrajectoryOutput,
)
from skyrl.train.generators.utils import get_rollout_metrics

import warpgym.skyrl  # noqa: F401 - registers the environment
from warpgym.client import Error

logger = logging.getLogger(__name__)

EXCLUDED = "warpgym_excluded"
ATTEMPTS = 3


class KernelGenerator(SkyRLGymGenerator):
    def __init__(self, *arguments: Any, attempts: int = ATTEMPTS, **more: Any) -> None:
        super().__init__(*arguments, **more)
        if self.batched:
            raise ValueError("generator.batched: set it to false, the gym answers each episode")
        self.attempts = attempts

    async def agent_loop(
        self, prompt: Any, *arguments: Any, **more: Any
    ) -> TrajectoryOutput | StepWiseOutput:
        for attempt in range(self.attempts):
            try:
                return await super().agent_loop(prompt, *arguments, **more)
            except Error as error:
                logger.warning("attempt %d of %d: %s", attempt + 1, self.attempts, error)
        return self.excluded(prompt)

    def excluded(self, prompt: Any) -> TrajectoryOutput | StepWiseOutput:
        """The shortest output that SkyRL takes."""
        options = self.generator_cfg.chat_template_kwargs
        ids = self.tokenizer.apply_chat_template(
            prompt, add_generation_prompt=True, tokenize=True, return_dict=False, **options
        )
        output = TrajectoryOutput(
            response_ids=[self.tokenizer.eos_token_id],
            reward=[0.0],
            stop_reason="stop",
            loss_mask=[0],
            prompt_ids=ids,
            rollout_logprobs=[0.0],
            env_metrics={EXCLUDED: True},
        )
        times = {"e2e_time": 0.0, "time_splits": {"llm": 0.0, "env": 0.0}}
        if self.generator_cfg.step_wise_trajectories:
            return StepWiseOutput(step_outputs=[output], **times)
        output.e2e_time, output.time_splits = times["e2e_time"], times["time_splits"]
        return output

    async def generate(
        self, input_batch: GeneratorInput, disable_tqdm: bool = False
    ) -> GeneratorOutput:
        made = await super().generate(input_batch, disable_tqdm)
        metrics = made["env_metrics"]
        left_out = [EXCLUDED in one for one in metrics]
        if any(left_out):
            names = names_of(made, input_batch)
            made["rewards"] = level(made["rewards"], left_out, names)
            classes = classes_of(names, input_batch)
            made["rollout_metrics"] = (made["rollout_metrics"] or {}) | without(
                made, left_out, classes
            )
        made["rollout_metrics"]["environment/excluded"] = float(sum(left_out))
        return made


def names_of(made: GeneratorOutput, given: GeneratorInput) -> list[tuple[str, int]]:
    """Of each row, its group and its episode in it. SkyRL names the rows of steps itself."""
    ids = made["trajectory_ids"] or given.get("trajectory_ids")
    if not ids:
        return [("", i) for i in range(len(made["rewards"]))]
    return [(one.instance_id, one.repetition_id) for one in ids]


def classes_of(names: list[tuple[str, int]], given: GeneratorInput) -> list[str]:
    ids, classes = given.get("trajectory_ids"), given["env_classes"]
    if not ids:
        return classes
    of = {(i.instance_id, i.repetition_id): c for i, c in zip(ids, classes, strict=True)}
    return [of[name] for name in names]


def total(reward: float | list[float]) -> float:
    return sum(reward) if isinstance(reward, list) else reward


def level(
    rewards: list[Any], left_out: list[bool], names: list[tuple[str, int]]
) -> list[float | list[float]]:
    """Excluded episodes with the mean of their group's others; 0 where there is none, and so no
    gradient in that group."""
    sums: dict[str, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for reward, out, (group, episode) in zip(rewards, left_out, names, strict=True):
        if not out:
            sums[group][episode] += total(reward)
    made = []
    for reward, out, (group, _) in zip(rewards, left_out, names, strict=True):
        others = sums[group].values()
        mean = sum(others) / len(others) if others else 0.0
        made.append(([mean] if isinstance(reward, list) else mean) if out else reward)
    return made


def without(made: GeneratorOutput, left_out: list[bool], classes: list[str]) -> dict[str, Any]:
    """SkyRL's metrics of the episodes that are not excluded."""
    rows = [i for i, out in enumerate(left_out) if not out]
    if not rows:
        return {}
    names = ("response_ids", "rewards", "env_metrics", "loss_masks")
    responses, rewards, metrics, masks = ([made[name][i] for i in rows] for name in names)
    return get_rollout_metrics(responses, rewards, metrics, [classes[i] for i in rows], masks)
