"""Episodes on a warpgym server, one after another: shared by the environments for Gymnasium, verl,
TRL, verifiers and OpenEnv.

    with Conversation("http://gpu-sandbox:10907", turns=4) as gym:
        episode = gym.reset("softmax")
        while not episode.done:
            episode = gym.step(model(episode.messages))
        print(episode.returns)

`AsyncConversation` has the same methods as coroutines. A conversation has one episode at a time;
leaving it, or the next `reset`, deletes an episode that is not done.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from warpgym.client import (
    AsyncClient,
    Client,
    Episode,
    Error,
    ProtocolError,
    Refused,
    Turn,
    Unreachable,
    torch_problem,
)

Problem = str | Mapping[str, Any]

CLIENT_OPTIONS = ("token", "timeout_s", "connect_timeout_s", "retry_budget_s", "ca_file")


class Unjudged(Error):
    """An answer could not be judged: its verdict does not describe it, so it has no reward."""


def reward_of(step: Turn) -> float:
    """Raises Unjudged if there is none: a machine's failure is never a reward of 0."""
    if step.excluded:
        raise Unjudged(f"turn {step.turn} has no reward: its verdict is {step.status}")
    return float(step.reward)


def unavailable(error: Error) -> bool:
    """It is no fault of the answer, nor of what was asked: the server is away, busy or broken, or
    its machine failed."""
    if isinstance(error, Refused):
        return error.status == 429 or error.status >= 500
    return isinstance(error, (Unjudged, Unreachable, ProtocolError))


def problem_from(given: Any, entry_point: str | None = None) -> Problem:
    """Of a column of a data set: a whole problem (an object, or as JSON text), an id of the
    server's (one line), else the source of a KernelBench module whose class is `entry_point`
    ("Model"). Raises ValueError if it is none."""
    if isinstance(given, Mapping):
        return given
    if not isinstance(given, str) or not given.strip():
        raise ValueError(f"a problem is an id, an object or a module's source, not {given!r}")
    if given.lstrip().startswith("{"):
        return dict(json.loads(given))
    if "\n" not in given.strip():
        return given.strip()
    return torch_problem(given, entry_point or "Model")


def new_messages(episode: Episode) -> list[dict[str, str]]:
    """The messages that are new to the model: the task, or the feedback. Of an episode that is
    done, the feedback on its last answer."""
    if episode.messages is None:
        return [{"role": "user", "content": episode.step.feedback}] if episode.step else []
    messages = episode.messages
    for i in range(len(messages) - 1, -1, -1):
        if messages[i].get("role") == "assistant":
            return messages[i + 1 :]
    return messages


def facts_of(episode: Episode) -> dict[str, float]:
    """The last turn in numbers, with the same keys for every turn, so that they can be stacked into
    arrays: `turn` (from 0), `compiled`, `correct`, `speedup` (0: not timed)."""
    step = episode.step
    return {
        "turn": float(step.turn if step else -1),
        "compiled": float(step.compiled if step else False),
        "correct": float(step.correct if step else False),
        "speedup": float(step.speedup) if step else 0.0,
    }


def split_options(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Splits options into those of the client and the configuration of its episodes."""
    client = {key: value for key, value in options.items() if key in CLIENT_OPTIONS}
    return client, {key: value for key, value in options.items() if key not in client}


def pick(problems: Sequence[Problem], generator: Any) -> Problem:
    """One of them; `generator` has `random()`, as Python's and NumPy's have."""
    if not problems:
        raise ValueError("the server has no problems: give some, or set its problems.path")
    return problems[min(int(generator.random() * len(problems)), len(problems) - 1)]


def problem_ids(listing: Any, language: str | None = None) -> list[str]:
    """The ids of the readable problems of GET /v1/problems that answers in this language solve."""
    return [
        one["id"]
        for one in listing["problems"]
        if "error" not in one and (not language or language in one.get("languages", [language]))
    ]


class Conversation:
    """`url` as of a `Client`; `options` are those of a client (`token`, `retry_budget_s`, …) and
    the configuration of episodes (`turns`, `language`, `reward`, …:
    `warpgym.client.episode_request`).
    """

    def __init__(self, url: str | None = None, **options: Any) -> None:
        client, self.configuration = split_options(options)
        self.client = Client(url, **client)
        self.episode: Episode | None = None

    def __enter__(self) -> Conversation:
        return self

    def __exit__(self, *ignored: object) -> None:
        self.close()

    def close(self) -> None:
        self.give_up()
        self.client.close()

    def give_up(self) -> None:
        """Deletes an episode that is not done; the server also deletes it after `expires_s`."""
        episode, self.episode = self.episode, None
        if episode and not episode.done:
            with contextlib.suppress(Error):
                self.client.delete_episode(episode.id)

    def problems(self) -> list[str]:
        return problem_ids(self.client.problems(), self.configuration.get("language"))

    def reset(self, problem: Problem, **more: Any) -> Episode:
        """`more` configures this episode only."""
        self.give_up()
        self.episode = self.client.create_episode(problem, **self.configuration | more)
        return self.episode

    def step(self, answer: str | bytes | None, **more: Any) -> Episode:
        """Has the answer judged. `more` as in `warpgym.client.answer_request`. Unjudged: that turn
        is over, without a reward; the episode continues with the next."""
        self.episode = self.client.step_episode(*open_turn(self.episode), answer, **more)
        reward_of(self.episode.step)
        return self.episode


class AsyncConversation:
    """As `Conversation`, for one event loop."""

    def __init__(self, url: str | None = None, **options: Any) -> None:
        client, self.configuration = split_options(options)
        self.client = AsyncClient(url, **client)
        self.episode: Episode | None = None

    async def __aenter__(self) -> AsyncConversation:
        return self

    async def __aexit__(self, *ignored: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self.give_up()
        await self.client.close()

    async def give_up(self) -> None:
        episode, self.episode = self.episode, None
        if episode and not episode.done:
            with contextlib.suppress(Error):
                await self.client.delete_episode(episode.id)

    async def problems(self) -> list[str]:
        return problem_ids(await self.client.problems(), self.configuration.get("language"))

    async def reset(self, problem: Problem, **more: Any) -> Episode:
        await self.give_up()
        self.episode = await self.client.create_episode(problem, **self.configuration | more)
        return self.episode

    async def step(self, answer: str | bytes | None, **more: Any) -> Episode:
        self.episode = await self.client.step_episode(*open_turn(self.episode), answer, **more)
        reward_of(self.episode.step)
        return self.episode


def open_turn(episode: Episode | None) -> tuple[str, int]:
    if episode is None or episode.done:
        raise RuntimeError("no episode is open: reset first")
    return episode.id, episode.turn
