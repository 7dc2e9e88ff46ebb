"""The gym as an environment of SkyRL-gym (from 0.4 on).

    import skyrl_gym, warpgym.skyrl             # the import registers "warpgym"

    env = skyrl_gym.make("warpgym", env_config={"url": "http://gpu-sandbox:10907"}, extras=row)
    messages, _ = env.init(row["prompt"])
    output = env.step(model(messages))          # observations, reward, done, metadata

A row of the dataset names its problem as verl's do (`warpgym.verl`): `extra_info["problem"]`, or
`reward_spec["ground_truth"]`. The conversation is the gym's own, `max_turns` answers long.

SkyRL adds up the rewards of an episode's turns, so the reward of turn t is multiplied by
`gamma ** t`: the sum is the return of the first turn (docs/guide/gym.md).

An unreachable judge, or an answer that could not be judged, raises, and SkyRL's generator ends the
run then. `warpgym.skyrl_generator` plays such an episode again, and leaves it out in the end.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import skyrl_gym
from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput
from skyrl_gym.envs.registration import registry

from warpgym.client import Turn
from warpgym.episodes import Conversation, facts_of, new_messages
from warpgym.verl import problem_of

ENV = "warpgym"
GAMMA = 0.4
RETRY_BUDGET_S = 600.0
# What a row says in its extra_info, beside the problem.
OF_A_ROW = ("language", "turns", "reward", "gamma", "prompt", "evaluation", "stop_speedup")


def options_of(env_config: Any, extras: Mapping[str, Any]) -> dict[str, Any]:
    """Those of a `Conversation`. The row goes before the configuration, which goes before
    SkyRL's `generator.max_turns`."""
    if dataclasses.is_dataclass(env_config):
        env_config = dataclasses.asdict(env_config)
    row = extras.get("extra_info") or {}
    given = {name: row[name] for name in OF_A_ROW if row.get(name) is not None}
    standard = {"turns": extras.get("max_turns", 1), "gamma": GAMMA}
    return standard | {"retry_budget_s": RETRY_BUDGET_S} | dict(env_config or {}) | given


class KernelEnv(BaseTextEnv):
    """One episode. `env_config`: `url`, and the options of a `warpgym.episodes.Conversation`."""

    def __init__(self, env_config: Any = None, extras: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        extras = extras or {}
        truth = (extras.get("reward_spec") or {}).get("ground_truth")
        self.problem = problem_of(truth, extras.get("extra_info"))
        options = options_of(env_config, extras)
        self.max_turns, self.gamma = options["turns"], options["gamma"]
        self.gym = Conversation(options.pop("url", None), **options)
        self.judged: list[Turn] = []

    def init(self, prompt: Any = None) -> tuple[list[dict[str, str]], dict[str, Any]]:
        """The gym's prompt, whatever the row's is: the feedback refers to it."""
        with self.closed_by_errors():
            episode = self.gym.reset(self.problem)
        return list(episode.messages), {"episode": episode.id}

    def step(self, action: str) -> BaseTextEnvStepOutput:
        with self.closed_by_errors():
            episode = self.gym.step(action)
        step = episode.step
        self.turns += 1
        self.judged.append(step)
        new = [] if episode.done else new_messages(episode)
        facts = facts_of(episode) | {"turn_reward": step.reward, "status": step.status}
        return BaseTextEnvStepOutput(
            observations=[one for one in new if one["role"] != "system"],
            reward=self.gamma**step.turn * step.reward,
            done=episode.done,
            metadata=facts | {"episode": episode.id, "returns": episode.returns},
        )

    def get_metrics(self) -> dict[str, Any]:
        """Of the best turn; `speedup` where something correct was timed. Numbers alone: SkyRL
        takes means of them."""
        turns = self.judged
        speedups = [float(one.speedup) for one in turns if one.correct and one.speedup]
        metrics = {
            "turns": float(len(turns)),
            "format_ok": max((float(one.format_ok) for one in turns), default=0.0),
            "compiled": max((float(one.compiled) for one in turns), default=0.0),
            "correct": max((float(one.correct) for one in turns), default=0.0),
        }
        return metrics | ({"speedup": max(speedups)} if speedups else {})

    @contextlib.contextmanager
    def closed_by_errors(self) -> Iterator[None]:
        """SkyRL does not close an environment that raises."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Deletes an episode that is not done."""
        self.gym.close()


if ENV not in registry:
    skyrl_gym.register(ENV, entry_point="warpgym.skyrl:KernelEnv")
