"""Episodes of several turns in verl: an agent loop.

    # agent.yaml: actor_rollout_ref.rollout.agent.agent_loop_config_path
    - name: warpgym
      _target_: warpgym.verl_agent.KernelAgentLoop
      url: http://gpu-sandbox:10907
      episode: {language: triton, turns: 3, reward: drkernel}

A sample's problem is that of `warpgym.verl`; its prompt is the gym's. The model's tokens have the
mask 1, feedback 0. Each turn's reward stands at the turn's last token; verl's own estimators add
them up, those of `warpgym.verl_methods` know the turns.

A turn that could not be judged is masked and has no reward. An episode without a judged turn is no
sample: the loop returns none. verl's trainer before V1 needs one, so that there it is a sample
whose mask is 0, which `warpgym.verl_methods` leaves out of the group; with another estimator it is
an error. A judge that is away for `retry_budget_s` (600) when an episode begins is an error, too.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import torch
from omegaconf import OmegaConf
from verl.experimental.agent_loop.agent_loop import (
    AgentLoopBase,
    AgentLoopMetrics,
    AgentLoopOutput,
)

from warpgym.client import Episode, Error, Turn
from warpgym.episodes import AsyncConversation, Unjudged, new_messages, unavailable
from warpgym.verl import RETRY_BUDGET_S, problem_of

logger = logging.getLogger(__name__)

OWN = "warpgym_"  # what the names of our estimators begin with


class KernelOutput(AgentLoopOutput):
    """Its token-level scores are those of the turns."""

    turn_ends: list[int] = []
    """The index of each judged turn's last token."""
    turn_rewards: list[float] = []

    def as_dict(self) -> dict[str, Any]:
        made = super().as_dict()
        ends, rewards = made.pop("turn_ends"), made.pop("turn_rewards")
        scores = torch.zeros_like(made["response_mask"], dtype=torch.float32)
        for end, reward in zip(ends, rewards, strict=True):
            scores[end] += reward
        return made | {"rm_scores": scores}


@dataclass
class Play:
    """A conversation as tokens, and what became of its turns."""

    tokens: list[int]  # prompt and response
    messages: list[dict[str, str]]
    mask: list[int] = field(default_factory=list)  # of the response
    logprobs: list[float] | None = None
    turns: list[Turn] = field(default_factory=list)  # that were judged
    ends: list[int] = field(default_factory=list)
    unjudged: int = 0
    generating_s: float = 0.0
    judging_s: float = 0.0
    preempted: int = -1
    extra: dict[str, Any] = field(default_factory=dict)


class KernelAgentLoop(AgentLoopBase):
    """`url` as of a client; `episode`: its options and the configuration of episodes.

    verl's `register` is not used: it would replace what agent.yaml says of the same name by the
    bare class, once a worker has imported this module for its first sample."""

    def __init__(
        self, *args: Any, url: str | None = None, episode: Mapping[str, Any] = {}, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        given = OmegaConf.to_container(episode) if OmegaConf.is_config(episode) else episode
        self.url, self.options = url, {"retry_budget_s": RETRY_BUDGET_S} | dict(given)
        self.limit = self.rollout_config.response_length

    async def run(self, sampling_params: dict[str, Any], **sample: Any) -> Any:
        given = sample.get("reward_model") or {}
        problem = problem_of(given.get("ground_truth"), sample.get("extra_info"))
        async with AsyncConversation(self.url, **self.options) as gym:
            episode = await gym.reset(problem)
            messages = list(episode.messages or [])
            play = Play(await self.ct_build_initial_tokens(messages), messages)
            request = uuid4().hex
            while await self.turn(gym, play, request, sampling_params):
                if not await self.append_feedback(gym.episode, play):
                    break
        return self.output(play, in_queue="session_id" in sample)

    async def turn(
        self, gym: AsyncConversation, play: Play, request: str, sampling: dict[str, Any]
    ) -> bool:
        """Whether there is another one."""
        begun = time.monotonic()
        made = await self.server_manager.generate(
            request_id=request, prompt_ids=play.tokens, sampling_params=sampling
        )
        play.generating_s += time.monotonic() - begun
        if made.num_preempted is not None:
            play.preempted = max(play.preempted, 0) + made.num_preempted
        first = play.extra.get("min_global_steps", made.extra_fields.get("min_global_steps"))
        play.extra = made.extra_fields | {"min_global_steps": first}
        start = len(play.mask)
        merged, play.mask, play.logprobs = await self.ct_merge_assistant_token(
            play.tokens,
            made.token_ids,
            play.mask,
            play.logprobs if play.logprobs or made.log_probs is None else [],
            assistant_logprobs=made.log_probs,
        )
        play.tokens = merged.token_ids
        answer = await asyncio.to_thread(
            self.tokenizer.decode, made.token_ids, skip_special_tokens=True
        )
        play.messages = [*play.messages, {"role": "assistant", "content": answer}]
        begun = time.monotonic()
        try:
            judged = (await gym.step(answer)).step
        except Error as error:
            if not unavailable(error):
                raise
            logger.warning("a turn was not judged, and is not trained on: %s", error)
            play.unjudged += 1
            play.mask[start:] = [0] * (len(play.mask) - start)
            if not isinstance(error, Unjudged):
                return False  # the judge is away
        else:
            play.turns.append(judged)
            play.ends.append(min(len(play.mask), self.limit) - 1)
        finally:
            play.judging_s += time.monotonic() - begun
        return not gym.episode.done and len(play.mask) < self.limit

    async def append_feedback(self, episode: Episode, play: Play) -> bool:
        """Whether an answer to it would fit."""
        added = [one for one in new_messages(episode) if one["role"] != "system"]
        updated = [*play.messages, *added]
        merged, mask, logprobs = await self.ct_merge_context_msg(
            play.messages, updated, play.tokens, play.mask, play.logprobs
        )
        if len(mask) >= self.limit:
            return False
        play.tokens, play.mask, play.logprobs = merged.token_ids, mask, logprobs
        play.messages = updated
        return True

    def output(self, play: Play, in_queue: bool) -> Any:
        if not play.turns:
            if in_queue:
                return []  # verl's trainer goes on without this sample
            if not str(self.config.algorithm.adv_estimator).startswith(OWN):
                raise Unjudged("no turn of an episode was judged: it has no reward")
        prompt = len(play.tokens) - len(play.mask)
        rewards = [float(one.reward) for one in play.turns]
        return KernelOutput(
            prompt_ids=play.tokens[:prompt],
            response_ids=play.tokens[prompt:][: self.limit],
            response_mask=play.mask[: self.limit],
            response_logprobs=play.logprobs[: self.limit] if play.logprobs else None,
            reward_score=sum(rewards),
            turn_ends=play.ends,
            turn_rewards=rewards,
            num_turns=2 * (len(play.turns) + play.unjudged),
            metrics=AgentLoopMetrics(
                generate_sequences=play.generating_s,
                tool_calls=play.judging_s,
                num_preempted=play.preempted,
            ),
            extra_fields=play.extra
            | {
                "turn_scores": rewards,
                "tool_rewards": [],
                "warpgym_turns": [facts_of(one) for one in play.turns],
                "reward_extra_info": figures(play),
            },
        )


def facts_of(turn: Turn) -> dict[str, float]:
    """What estimators and rejection need of a turn; NaN where nothing was measured."""
    parts = turn.reward_parts
    return {
        "reward": float(turn.reward),
        "correct": float(turn.correct),
        "speedup": float(turn.speedup) if turn.correct and turn.speedup else float("nan"),
        "coverage": float(parts.get("coverage", "nan")),
    }


def figures(play: Play) -> dict[str, float]:
    """For verl's metrics, with the same keys for every sample: of the best turn."""
    return {
        "acc": max((float(one.correct) for one in play.turns), default=0.0),
        "compiled": max((float(one.compiled) for one in play.turns), default=0.0),
        "speedup": max((one.speedup for one in play.turns if one.correct), default=0.0),
        "judged_turns": float(len(play.turns)),
        "excluded": float(play.unjudged),
    }
