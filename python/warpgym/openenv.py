"""The gym as an OpenEnv server, and its client.

    python3 -m warpgym.openenv --url http://gpu-sandbox:10907 --port 8000

    from warpgym.openenv import KernelAction, KernelEnv

    with KernelEnv(base_url="http://localhost:8000").sync() as env:
        result = env.reset(problem="softmax")
        while not result.done:
            result = env.step(KernelAction(answer=model(result.observation.messages)))
        print(result.reward)

A session is one WebSocket with one episode at a time. Over plain HTTP each request has its own
environment, so an action names its episode: `KernelAction(answer=…, episode_id=…)`.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from warpgym.client import Episode
from warpgym.client.requests import as_text
from warpgym.conflicts import explained
from warpgym.episodes import Conversation, Problem, new_messages, pick

try:
    from openenv.core import EnvClient
    from openenv.core.client_types import StepResult
    from openenv.core.env_server import Action, Environment, Observation, State, create_app
    from openenv.core.env_server.types import EnvironmentMetadata
except ImportError as error:
    raise explained(error, "openenv") from error

SESSIONS = 256
# Pydantic refuses half a surrogate pair; a model may write one.
Written = Annotated[str, BeforeValidator(as_text)]


class KernelAction(Action):
    """A model's answer, unchanged."""

    answer: Written = Field(description="The model's answer: prose, thinking and a kernel in it")
    reasoning: Written | None = Field(default=None, description="If the model's API separates it")
    episode_id: str | None = Field(default=None, description="Over plain HTTP: the episode")


class KernelObservation(Observation):
    """The gym's reply; `reward` and `done` are those of the turn that ended."""

    episode_id: str
    problem: str = Field(default="", description="Its id")
    turn: int = Field(description="The open turn, from 0; when done, the number of turns")
    turns: int = Field(description="The largest number of answers")
    messages: list[dict[str, str]] = Field(description="The conversation to send to a model")
    text: str = Field(description="What is new: the task, or the feedback on the last answer")
    status: str = Field(default="", description="The last verdict's status, or no_code")
    compiled: bool = False
    correct: bool = False
    speedup: float = Field(default=0.0, description="Times as fast as the reference; 0: not timed")
    truncated: bool = Field(default=False, description="Done because no turn is left")


class KernelState(State):
    """`step_count` counts answers."""

    problem: str = ""
    turns: int = 0
    done: bool = False
    rewards: list[float] = Field(default_factory=list, description="Of this session's turns")


class KernelEnvironment(Environment[KernelAction, KernelObservation, KernelState]):
    """`problems`: `reset` without a problem draws one of them by its seed; None: all of the
    server's. `options` as of `warpgym.episodes.Conversation`."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(
        self,
        url: str | None = None,
        problems: Sequence[Problem] | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        self.gym = Conversation(url, **options)
        self.problems = problems
        self._state = KernelState()

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        problem: Problem | None = None,
        **configuration: Any,
    ) -> KernelObservation:
        """`configuration` of the episode: `turns`, `language`, `reward`, …"""
        problem = problem or pick(self.known_problems(), random.Random(seed))
        episode = self.gym.reset(problem, id=episode_id, **configuration)
        self._state = KernelState(
            episode_id=episode.id, problem=episode.problem.get("id", ""), turns=episode.turns
        )
        return self.observed(episode)

    def step(
        self, action: KernelAction, timeout_s: float | None = None, **ignored: Any
    ) -> KernelObservation:
        """`timeout_s` bounds the wait for the verdict: after TimeoutError, repeat the action to
        continue waiting. warpgym.episodes.Unjudged: the answer could not be judged."""
        if action.episode_id and action.episode_id != self._state.episode_id:
            self.join(action.episode_id)
        episode = self.gym.step(action.answer, reasoning=action.reasoning, timeout_s=timeout_s)
        self._state.step_count += 1
        self._state.done = episode.done
        self._state.rewards = [*self._state.rewards, episode.step.reward]
        return self.observed(episode)

    @property
    def state(self) -> KernelState:
        return self._state

    def close(self) -> None:
        """The episode stays on the server until it expires: another request may continue it."""
        self.gym.client.close()

    def get_metadata(self) -> EnvironmentMetadata:
        return EnvironmentMetadata(
            name="warpgym", description="Writing correct and fast compute kernels"
        )

    # --- OpenEnv's protocol of tasks: one split, its tasks are the problems -----------------------

    def list_splits(self) -> list[str]:
        return ["all"]

    def list_tasks(self, split: str) -> list[dict[str, Any]]:
        if split != "all":
            raise ValueError(f"unknown split {split!r}: the only one is 'all'")
        return [{"id": str(one), "problem": one} for one in self.known_problems()]

    def num_tasks(self, split: str) -> int:
        return len(self.list_tasks(split))

    def get_task(self, split: str, index: int) -> dict[str, Any]:
        return self.list_tasks(split)[index]

    # --- below ------------------------------------------------------------------------------------

    def known_problems(self) -> Sequence[Problem]:
        if self.problems is None:
            self.problems = self.gym.problems()
        return self.problems

    def join(self, episode_id: str) -> None:
        episode = self.gym.client.get_episode(episode_id)
        self.gym.episode = episode
        self._state = KernelState(
            episode_id=episode.id,
            problem=episode.problem.get("id", ""),
            turns=episode.turns,
            step_count=episode.turn,
        )

    def observed(self, episode: Episode) -> KernelObservation:
        step = episode.step
        of_turn: dict[str, Any] = {}
        if step:
            of_turn = {
                "status": step.status,
                "compiled": step.compiled,
                "correct": step.correct,
                "speedup": step.speedup,
                "truncated": step.truncated,
                "reward": step.reward,
            }
        return KernelObservation(
            episode_id=episode.id,
            problem=self._state.problem,
            turn=episode.turn,
            turns=episode.turns,
            messages=episode.messages or [],
            text="\n\n".join(one["content"] for one in new_messages(episode)),
            done=episode.done,
            metadata={"returns": episode.returns} if episode.done else {},
            **of_turn,
        )


class KernelEnv(EnvClient[KernelAction, KernelObservation, KernelState]):
    """The client of this server. Asynchronous; `.sync()` makes it blocking."""

    def _step_payload(self, action: KernelAction) -> dict[str, Any]:
        return action.model_dump(exclude_none=True)

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[KernelObservation]:
        reward, done = payload.get("reward"), payload.get("done", False)
        observation = KernelObservation(**payload["observation"], reward=reward, done=done)
        return StepResult(
            observation=observation, reward=reward, done=done, metadata=observation.metadata
        )

    def _parse_state(self, payload: dict[str, Any]) -> KernelState:
        return KernelState(**payload)


def make_app(
    url: str | None = None,
    problems: Sequence[Problem] | None = None,
    *,
    sessions: int = SESSIONS,
    **options: Any,
) -> Any:
    """The FastAPI application, for any ASGI server; up to `sessions` at a time."""
    return create_app(
        lambda: KernelEnvironment(url, problems, **options),
        KernelAction,
        KernelObservation,
        env_name="warpgym",
        max_concurrent_envs=sessions,
        state_cls=KernelState,
    )


def main() -> None:
    import uvicorn

    parser = argparse.ArgumentParser(description="The gym as an OpenEnv server")
    parser.add_argument("--url", help="URL of warpgym serve (default: WARPGYM_CLIENT_URL)")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--problem", action="append", help="offer it (default: all the server has)")
    parser.add_argument("--turns", type=int, help="the largest number of answers in an episode")
    parser.add_argument("--language", help="of the answers (gym.language)")
    arguments = parser.parse_args()
    app = make_app(
        arguments.url, arguments.problem, turns=arguments.turns, language=arguments.language
    )
    uvicorn.run(app, host=arguments.host, port=arguments.port)


if __name__ == "__main__":
    main()
