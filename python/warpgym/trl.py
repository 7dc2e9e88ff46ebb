"""The gym for TRL's GRPOTrainer and RLOOTrainer: rewards of answers, and an environment.

    from warpgym.trl import kernel_reward
    GRPOTrainer(model, reward_funcs=kernel_reward(url="http://gpu-sandbox:10907", language="c"), …)

    from warpgym.trl import environment, return_reward
    GRPOTrainer(model, reward_funcs=return_reward,
                environment_factory=environment(url="http://gpu-sandbox:10907", turns=3), …)

The problem of a row is its column `problem`: an id of the server's, a whole problem (an object, or
as JSON), or the source of a KernelBench module (`entry_point`: its class, "Model").

An answer that could not be judged has the reward None: TRL then leaves it out of its group's mean
and gives it no advantage. Where no answer of a call could be judged, the error is raised, because
a judge that is away would look like a model that learns nothing. A server that is away or busy is
asked again for `retry_budget_s` (600) first.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from warpgym.client import Episode, Error, Turn
from warpgym.episodes import (
    AsyncConversation,
    Conversation,
    Problem,
    Unjudged,
    new_messages,
    problem_from,
    reward_of,
    unavailable,
)

logger = logging.getLogger(__name__)

RETRY_BUDGET_S = 600.0
AT_A_TIME = 64
OVER = "This was the last attempt. Do not submit again."
AWAY = "The judge is away. Do not submit again."

Rewards = list[float | None]


def rows(
    url: str | None = None, problems: Iterable[Problem] | None = None, **options: Any
) -> Iterator[dict[str, Any]]:
    """A row for each problem (None: all of the server's that the language solves), with the gym's
    own `prompt` and the column `problem`: for datasets.Dataset.from_list. `options` as of
    `kernel_reward`."""
    with Conversation(url, **{"turns": 1} | options) as gym:
        for one in gym.problems() if problems is None else problems:
            text = one if isinstance(one, str) else json.dumps(one)
            yield {"prompt": gym.reset(problem_from(one)).messages, "problem": text}


def text_of(message: Mapping[str, Any] | None) -> str | None:
    """A message's content, which may be a list of parts."""
    content = (message or {}).get("content")
    if not isinstance(content, list):
        return content
    return "".join(part.get("text") or "" for part in content if isinstance(part, Mapping))


def answer_of(completion: Any) -> tuple[str | None, str | None]:
    """The answer and the reasoning of a completion: text, or messages, whose last one of the model
    counts."""
    if not isinstance(completion, list):
        return completion, None
    own = [one for one in completion if one.get("role") == "assistant"]
    last = own[-1] if own else None
    thought = (last or {}).get("reasoning_content") or (last or {}).get("thinking")
    return text_of(last), thought if isinstance(thought, str) else None


# --- rewards of answers --------------------------------------------------------------------------


def kernel_reward(
    url: str | None = None, *, blocking: bool = False, at_a_time: int = AT_A_TIME, **options: Any
) -> Callable[..., Any]:
    """A function for `reward_funcs` that has each answer judged, in an episode of one turn.

    `options`: of the client and of episodes, as of `warpgym.episodes.Conversation` (`language`,
    `reward`, …). It is asynchronous, so that TRL calls it beside other such functions; with
    `blocking` it is not. It logs `kernel/compiled`, `kernel/correct`, `kernel/speedup` and
    `kernel/excluded`, and the column `status` of the table of completions.
    """
    configured = {"retry_budget_s": RETRY_BUDGET_S, "turns": 1} | options

    async def judged(completions: Sequence[Any], columns: Mapping[str, Any]) -> Rewards:
        slots = asyncio.Semaphore(at_a_time)

        async def one(problem: Any, entry_point: Any, completion: Any) -> Turn | Error:
            answer, thought = answer_of(completion)
            try:
                async with slots, AsyncConversation(url, **configured) as gym:
                    await gym.reset(problem_from(problem, entry_point))
                    return turn_of(await gym.step(answer, reasoning=thought))
            except Error as error:
                return kept(error)

        problems = column(columns, "problem", len(completions))
        points = columns.get("entry_point") or [None] * len(completions)
        samples = zip(problems, points, completions, strict=True)
        turns = await asyncio.gather(*(one(*sample) for sample in samples))
        log(columns, [[turn] for turn in turns])
        return rewards_of([outcome(turn) for turn in turns])

    async def asynchronous(completions: Sequence[Any], **columns: Any) -> Rewards:
        return await judged(completions, columns)

    def synchronous(completions: Sequence[Any], **columns: Any) -> Rewards:
        # In a new thread: the caller's may have a running event loop.
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(asyncio.run, judged(completions, columns)).result()

    made = synchronous if blocking else asynchronous
    made.__name__ = "kernel_reward"  # what TRL's metrics are called by
    return made


def column(columns: Mapping[str, Any], name: str, count: int) -> Sequence[Any]:
    found = columns.get(name)
    if found is None:
        raise ValueError(f"the data set has no column {name!r}: warpgym.trl.rows makes one")
    if len(found) != count:
        raise ValueError(f"{len(found)} values of {name!r} for {count} completions")
    return found


def turn_of(episode: Episode) -> Turn:
    assert episode.step is not None
    return episode.step


def kept(error: Error) -> Error:
    """Raises it if it is the caller's, as a configuration that the server refuses."""
    if not unavailable(error):
        raise error
    return error


def outcome(turn: Turn | Error) -> float | Error:
    try:
        return turn if isinstance(turn, Error) else reward_of(turn)
    except Unjudged as error:
        return error


def rewards_of(outcomes: Sequence[float | Error]) -> Rewards:
    """Raises the last error if there is nothing else."""
    errors = [one for one in outcomes if isinstance(one, Error)]
    if errors and len(errors) == len(outcomes):
        raise errors[-1]
    for error in errors:
        logger.warning("an answer was not judged, and has no reward: %s", error)
    return [None if isinstance(one, Error) else one for one in outcomes]


def log(columns: Mapping[str, Any], played: Sequence[Sequence[Turn | Error]]) -> None:
    """Means over the completions, of the best turn of each: `played` has their turns."""
    metric, extra = columns.get("log_metric"), columns.get("log_extra")
    found = [[one for one in turns if isinstance(one, Turn)] for turns in played]
    judged = [[one for one in turns if not one.excluded] for turns in found]
    if extra:
        extra("status", [turns[-1].status if turns else "not_judged" for turns in found])
    if not metric:
        return
    for turns in judged:
        metric("kernel/excluded", float(not turns))
        if turns:
            metric("kernel/compiled", float(any(one.compiled for one in turns)))
            metric("kernel/correct", float(any(one.correct for one in turns)))
            metric("kernel/speedup", max(one.speedup if one.correct else 0.0 for one in turns))
            metric("kernel/turns", float(len(turns)))


# --- an environment ------------------------------------------------------------------------------


class Judge:
    """What the environments of a trainer share. TRL runs them one after another, so that each would
    ask for the whole retry budget a server that is gone."""

    def __init__(self) -> None:
        self.away: Error | None = None


class KernelEnvironment:
    """An episode: TRL calls `reset` with a row's columns, and the model calls `submit`, the only
    other public method, because TRL offers the model each one."""

    def __init__(self, url: str | None, judge: Judge, options: Mapping[str, Any]) -> None:
        self._gym = Conversation(url, **{"retry_budget_s": RETRY_BUDGET_S} | options)
        self._judge = judge
        self._gamma = options.get("gamma", 0.4)
        self._turns: list[Turn | Error] = []

    def reset(self, problem: Any = None, entry_point: Any = None, **row: Any) -> str:
        """Begins an episode: the text that TRL appends to the prompt. Raises what stops it."""
        del row
        if problem is None:
            raise ValueError("the data set has no column 'problem': warpgym.trl.rows makes one")
        self._turns, self._judge.away = [], None
        episode = self._gym.reset(problem_from(problem, entry_point))
        task = "\n\n".join(one["content"] for one in episode.messages or [])
        attempts = "attempt" if episode.turns == 1 else "attempts"
        return f"{task}\n\nSubmit your answer by `submit`: {episode.turns} {attempts}."

    def submit(self, answer: str) -> str:
        """
        Submits a kernel, to be compiled, checked against the reference and timed.

        Args:
            answer: The whole answer, in the form that the task asks for.

        Returns:
            What was found, and what may be improved.
        """
        episode = self._gym.episode
        if self._judge.away:
            self._turns.append(self._judge.away)
            return AWAY
        if episode is None or episode.done:
            return OVER
        given = answer if isinstance(answer, str | None) else json.dumps(answer)
        try:
            episode = self._gym.step(given)
            self._turns.append(turn_of(episode))
        except Unjudged as error:
            self._turns.append(error)
            episode = self._gym.episode
        except Error as error:
            self._judge.away = error
            self._turns.append(error)
            return AWAY
        feedback = "\n\n".join(one["content"] for one in new_messages(episode))
        return f"{feedback}\n\n{OVER}" if episode.done else feedback

    def _finish(self, completion: Any) -> list[Turn | Error]:
        """Its turns. A model that did not call `submit` has answered by its last message."""
        if not self._turns:
            self.submit(answer_of(completion)[0])
        for one in self._turns:
            if isinstance(one, Error):
                kept(one)
        return self._turns


def environment(url: str | None = None, **options: Any) -> Callable[[], KernelEnvironment]:
    """For `environment_factory`. `options` as of `warpgym.episodes.Conversation`: `turns`,
    `language`, `reward`, `gamma`, `retry_budget_s`, …"""
    judge = Judge()
    return lambda: KernelEnvironment(url, judge, options)


def finished(
    completions: Sequence[Any], environments: Sequence[Any], columns: Mapping[str, Any]
) -> list[list[Turn | Error]]:
    with ThreadPoolExecutor(min(AT_A_TIME, len(environments))) as threads:
        played = [*threads.map(KernelEnvironment._finish, environments, completions)]
    log(columns, played)
    return played


def return_reward(
    completions: Sequence[Any], environments: Sequence[Any], **columns: Any
) -> Rewards:
    """For `reward_funcs`: the return of each episode's first turn, the sum of its turns' rewards
    discounted by `gamma` (0.4). A turn that could not be judged is left out."""

    def total(played: list[Turn | Error], gamma: float) -> float | Error:
        outcomes = [outcome(turn) for turn in played]
        judged = [one for one in outcomes if not isinstance(one, Error)]
        if not judged:
            return next(one for one in outcomes if isinstance(one, Error))
        return sum(gamma**i * reward for i, reward in enumerate(judged))

    played = finished(completions, environments, columns)
    pairs = zip(played, environments, strict=True)
    return rewards_of([total(turns, one._gamma) for turns, one in pairs])


def best_reward(completions: Sequence[Any], environments: Sequence[Any], **columns: Any) -> Rewards:
    """For `reward_funcs`: the highest reward among each episode's turns."""

    def best(played: list[Turn | Error]) -> float | Error:
        outcomes = [outcome(turn) for turn in played]
        judged = [one for one in outcomes if not isinstance(one, Error)]
        return max(judged) if judged else outcomes[-1]

    return rewards_of([best(turns) for turns in finished(completions, environments, columns)])
