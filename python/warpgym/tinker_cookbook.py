"""The gym as a dataset of tinker-cookbook's reinforcement learning (from 0.5 on).

    from tinker_cookbook.rl.train import Config, main
    from warpgym.tinker_cookbook import KernelDatasetBuilder

    builder = KernelDatasetBuilder(
        url="http://gpu-sandbox:10907", model_name_for_tokenizer=MODEL, renderer_name="qwen3"
    )
    asyncio.run(main(Config(dataset_builder=builder, model_name=MODEL, …)))

A group is one problem, an environment one episode of it. The cookbook adds up the rewards of an
episode's steps, so the reward of turn t is multiplied by `gamma ** t`: the sum is the return of the
first turn (docs/guide/gym.md).

An unreachable judge, or an answer that could not be judged, raises: a rollout strategy of the
cookbook (`rollout_error_tolerance`) plays the episode again, and leaves it out in the end.
"""

import asyncio
import math
import random
from collections.abc import Sequence
from typing import Any

import chz
import tinker
from tinker_cookbook.completers import StopCondition
from tinker_cookbook.exceptions import RendererError
from tinker_cookbook.renderers import Message, Renderer, get_renderer, get_text_content
from tinker_cookbook.rl.rollout_limits import RolloutLimits
from tinker_cookbook.rl.types import (
    Action,
    ActionExtra,
    Env,
    EnvGroupBuilder,
    Metrics,
    RLDataset,
    RLDatasetBuilder,
    StepResult,
    Trajectory,
)
from tinker_cookbook.tokenizer_utils import get_tokenizer

from warpgym.client import AsyncClient, Episode, Turn
from warpgym.episodes import AsyncConversation, problem_ids

GAMMA = 0.4
RETRY_BUDGET_S = 600.0


class KernelEnv(Env):
    """One episode. `configuration` as of `warpgym.episodes.AsyncConversation`."""

    def __init__(
        self,
        renderer: Renderer,
        url: str | None,
        problem: str,
        configuration: dict[str, Any],
        max_trajectory_tokens: int | None = None,
    ) -> None:
        self.renderer, self.url, self.problem = renderer, url, problem
        self.configuration = {"gamma": GAMMA, "retry_budget_s": RETRY_BUDGET_S} | configuration
        self.rollout_limits = RolloutLimits(max_trajectory_tokens=max_trajectory_tokens)
        self.gym: AsyncConversation | None = None
        self.turns: list[Turn] = []

    async def initial_observation(self) -> tuple[tinker.ModelInput, StopCondition]:
        gym = self.gym = AsyncConversation(self.url, **self.configuration)
        episode = await gym.reset(self.problem)
        if not self.gym:  # closed meanwhile, because another rollout of the group failed
            await gym.close()
            raise RuntimeError("the group of this rollout has ended")
        return self.rendered(episode), self.renderer.get_stop_sequences()

    async def step(self, action: Action, *, extra: ActionExtra | None = None) -> StepResult:
        """A cut off or ill-formed answer is an answer, too: the gym judges what is there."""
        message = self.message_of(action)
        finish = (extra or {}).get("stop_reason")
        answer = {"reasoning": thinking_of(message), "finish": finish}
        if not self.gym:
            raise RuntimeError("the group of this rollout has ended")
        episode = await self.gym.step(get_text_content(message), **answer)
        step = episode.step
        self.turns.append(step)
        if episode.done:
            await self.close()
        return StepResult(
            reward=self.configuration["gamma"] ** step.turn * step.reward,
            episode_done=episode.done,
            next_observation=self.rendered(episode),
            next_stop_condition=self.renderer.get_stop_sequences(),
            metrics=metrics_of(step),
            logs={"problem": self.problem, "status": step.status, "feedback": step.feedback},
        )

    def message_of(self, action: Action) -> Message:
        """The whole text, where the renderer refuses it: one with several ends of a turn."""
        try:
            return self.renderer.parse_response(action)[0]
        except RendererError:
            return Message(role="assistant", content=self.renderer.tokenizer.decode(action))

    def rendered(self, episode: Episode) -> tinker.ModelInput:
        """What the model reads next. In the loop's own thread: episodes share one tokenizer, and
        that of transformers fails ("Already borrowed") where several threads use it."""
        if episode.done:
            return tinker.ModelInput.empty()
        return self.renderer.build_generation_prompt([Message(**one) for one in episode.messages])

    async def close(self) -> None:
        """Deletes an episode that is not done; any number of times."""
        gym, self.gym = self.gym, None
        if gym:
            await gym.close()


def thinking_of(message: Message) -> str | None:
    """What the renderer holds apart from the answer."""
    content = message["content"]
    if isinstance(content, str):
        return None
    parts = [part["thinking"] for part in content if part["type"] == "thinking"]
    return "".join(parts) or None


def metrics_of(step: Turn) -> Metrics:
    """The turn's reward as the gym gave it; `speedup` where something correct was timed."""
    metrics: Metrics = {
        "turn_reward": float(step.reward),
        "format_ok": float(step.format_ok),
        "compiled": float(step.compiled),
        "correct": float(step.correct),
    }
    return metrics | ({"speedup": float(step.speedup)} if step.correct and step.speedup else {})


class KernelGroupBuilder(EnvGroupBuilder):
    """Episodes of one problem. It holds no connection before they are played, so that it can be
    sent to another process."""

    def __init__(self, config: "KernelDatasetBuilder", problem: str, group_size: int) -> None:
        self.config, self.problem, self.group_size = config, problem, group_size
        self.envs: list[KernelEnv] = []

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"envs": []}

    async def make_envs(self) -> Sequence[Env]:
        config = self.config
        renderer = config.renderer()
        made = [
            KernelEnv(
                renderer,
                config.url,
                self.problem,
                config.configuration(),
                config.max_trajectory_tokens,
            )
            for _ in range(self.group_size)
        ]
        self.envs += made
        return made

    async def compute_group_rewards(
        self, trajectory_group: list[Trajectory], env_group: Sequence[KernelEnv]
    ) -> list[tuple[float, Metrics]]:
        """No further reward; of each episode, its best turn."""
        return [(0.0, best_of(env.turns)) for env in env_group]

    async def cleanup(self) -> None:
        """Deletes the episodes of rollouts that failed or were cancelled."""
        envs, self.envs = self.envs, []
        await asyncio.gather(*(env.close() for env in envs))

    def logging_tags(self) -> list[str]:
        return ["warpgym", f"warpgym/{self.problem}"] if self.config.log_problems else ["warpgym"]


def best_of(turns: Sequence[Turn]) -> Metrics:
    best: Metrics = {"best_correct": max((float(one.correct) for one in turns), default=0.0)}
    speedups = [float(one.speedup) for one in turns if one.correct and one.speedup]
    return best | ({"best_speedup": max(speedups)} if speedups else {})


class KernelDataset(RLDataset):
    def __init__(self, groups: Sequence[KernelGroupBuilder], batch_size: int) -> None:
        self.groups, self.batch_size = groups, batch_size

    def get_batch(self, index: int) -> Sequence[EnvGroupBuilder]:
        """Builders of their own: the asynchronous recipe plays batches at the same time."""
        first = index * self.batch_size
        chosen = self.groups[first : first + self.batch_size]
        return [KernelGroupBuilder(one.config, one.problem, one.group_size) for one in chosen]

    def __len__(self) -> int:
        return math.ceil(len(self.groups) / self.batch_size)


@chz.chz
class KernelDatasetBuilder(RLDatasetBuilder):
    """The token comes from WARPGYM_CLIENT_TOKEN, so that no log holds it. None: the server's
    setting."""

    model_name_for_tokenizer: str
    renderer_name: str
    url: str | None = None
    problems: list[str] = chz.field(default_factory=list, doc="ids; none: all that suit")
    test_problems: list[str] = chz.field(default_factory=list, doc="for evaluations; none: none")
    group_size: int = chz.field(default=8, doc="episodes of a problem")
    batch_size: int = chz.field(default=8, doc="problems of a step")
    epochs: int = chz.field(default=1, doc="times that each problem comes")
    seed: int = chz.field(default=0, doc="of the problems' order")
    turns: int | None = None
    language: str | None = None
    reward: str | None = None
    gamma: float = GAMMA
    stop_speedup: float | None = None
    retry_budget_s: float = RETRY_BUDGET_S
    episode: dict[str, Any] = chz.field(default_factory=dict, doc="more of its configuration")
    max_trajectory_tokens: int | None = chz.field(default=None, doc="prompts and answers, in all")
    log_problems: bool = chz.field(default=False, doc="metrics of each problem, too")

    async def __call__(self) -> tuple[RLDataset, RLDataset | None]:
        problems = self.problems or await self.known_problems()
        if not problems:
            raise ValueError("the server has no problems: give some, or set its problems.path")
        order = random.Random(self.seed)
        train = [one for _ in range(self.epochs) for one in order.sample(problems, len(problems))]
        test = self.dataset(self.test_problems, 1) if self.test_problems else None
        return self.dataset(train, self.group_size), test

    def dataset(self, problems: Sequence[str], group_size: int) -> KernelDataset:
        groups = [KernelGroupBuilder(self, one, group_size) for one in problems]
        return KernelDataset(groups, self.batch_size)

    async def known_problems(self) -> list[str]:
        async with AsyncClient(self.url, retry_budget_s=self.retry_budget_s) as client:
            return problem_ids(await client.problems(), self.language)

    def renderer(self) -> Renderer:
        tokenizer = get_tokenizer(self.model_name_for_tokenizer)
        return get_renderer(self.renderer_name, tokenizer, model_name=self.model_name_for_tokenizer)

    def configuration(self) -> dict[str, Any]:
        names = ("turns", "language", "reward", "gamma", "stop_speedup", "retry_budget_s")
        return {name: getattr(self, name) for name in names} | self.episode
