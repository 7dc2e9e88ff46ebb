"""The gym as a reward function of verl.

    reward:
      custom_reward_function:
        path: pkg://warpgym.verl
        name: compute_score_async
        reward_kwargs: {url: "http://gpu-sandbox:10907", language: triton, reward: drkernel}

Each answer is an episode of one turn: the server extracts the candidate, judges it and returns the
reward. `compute_score_async` is for verl's reward loop, `compute_score` for callers with threads,
`compute_scores` for a whole batch (verl's `batch` reward manager).

Sources of the problem, in this order:
  extra_info["problem"]    an id of the server's, or a whole problem (an object, or as JSON text)
  ground_truth             an object, or as JSON text: a whole problem
  ground_truth             one line of text: an id of the server's
  ground_truth             else: the reference's source, a KernelBench module whose class is
                           extra_info["entry_point"] ("Model"), as in Dr. Kernel's data
`extra_info` may itself be JSON text.

The result has the same keys for every answer, all numbers but `status`: `score` (the reward),
`acc` and `correct`, `compiled`, `speedup` (0: not timed), `format_ok`, `excluded`, and the reward's
parts as `reward_format`, `reward_compile`, …

An answer that could not be judged does not get a reward of 0. The client retries for
`retry_budget_s` (600) while the server is away or busy, the judge repeats evaluations that its
machine broke, and then the error is raised, which ends the training run. With `error_score` set,
that score is returned instead, with `excluded` 1: drop those samples from the batch, and from its
group's mean.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from warpgym.client import Episode, Error
from warpgym.episodes import (
    AsyncConversation,
    Conversation,
    Problem,
    facts_of,
    problem_from,
    reward_of,
)

logger = logging.getLogger(__name__)

RETRY_BUDGET_S = 600.0
AT_A_TIME = 64
PARTS = ("format", "compile", "correctness", "speed", "length", "thinking", "coverage")
# Arguments that verl's reward loop adds for functions that use a reward model.
VERLS_OWN = ("reward_router_address", "reward_model_tokenizer")

Score = dict[str, float | str]


def problem_of(ground_truth: Any, extra_info: Mapping[str, Any] | str | None) -> Problem:
    """Raises ValueError if there is none."""
    extra = json.loads(extra_info) if isinstance(extra_info, str) else extra_info or {}
    given = extra.get("problem") or ground_truth
    if not given:
        raise ValueError("neither extra_info['problem'] nor the ground truth holds a problem")
    return problem_from(given, extra.get("entry_point"))


def score_of(episode: Episode) -> Score:
    """Raises Unjudged."""
    step = episode.step
    assert step is not None
    facts = facts_of(episode)
    del facts["turn"]
    parts = {f"reward_{name}": float(step.reward_parts.get(name) or 0.0) for name in PARTS}
    score: Score = {"score": reward_of(step), "acc": facts["correct"]}
    score["format_ok"] = float(step.format_ok)
    return score | facts | parts | {"status": step.status, "excluded": 0.0}


def excluded(error: Exception, error_score: float | None) -> Score:
    """Raises the error unless a score replaces it."""
    if error_score is None:
        raise error
    logger.error("an answer was not judged: %s", error)
    numbers = ("acc", "format_ok", "compiled", "correct", "speedup")
    parts = [f"reward_{name}" for name in PARTS]
    nothing: Score = dict.fromkeys([*numbers, *parts], 0.0)
    return {"score": error_score} | nothing | {"status": "not_judged", "excluded": 1.0}


def episode_options(data_source: str, options: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in options.items() if key not in VERLS_OWN}
    notes = {"data_source": str(data_source)}
    return {"retry_budget_s": RETRY_BUDGET_S, "turns": 1, "notes": notes} | kept


async def compute_score_async(
    data_source: str,
    solution_str: str,
    ground_truth: Any,
    extra_info: Mapping[str, Any] | str | None = None,
    *,
    url: str | None = None,
    error_score: float | None = None,
    **options: Any,
) -> Score:
    """The score of one answer. `options`: of the client and of the episode, as of
    `warpgym.episodes.Conversation`. Raises what `warpgym.client` raises, and Unjudged."""
    problem = problem_of(ground_truth, extra_info)
    try:
        async with AsyncConversation(url, **episode_options(data_source, options)) as gym:
            await gym.reset(problem)
            return score_of(await gym.step(solution_str))
    except Error as error:
        return excluded(error, error_score)


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: Any,
    extra_info: Mapping[str, Any] | str | None = None,
    *,
    url: str | None = None,
    error_score: float | None = None,
    **options: Any,
) -> Score:
    """As `compute_score_async`, but blocking; any number of threads may call it."""
    problem = problem_of(ground_truth, extra_info)
    try:
        with Conversation(url, **episode_options(data_source, options)) as gym:
            gym.reset(problem)
            return score_of(gym.step(solution_str))
    except Error as error:
        return excluded(error, error_score)


def compute_scores(
    data_sources: Sequence[str],
    solution_strs: Sequence[str],
    ground_truths: Sequence[Any],
    extra_infos: Sequence[Mapping[str, Any] | str | None],
    *,
    at_a_time: int = AT_A_TIME,
    **options: Any,
) -> list[Score]:
    """The scores of a batch, in its order; `options` as of `compute_score_async`."""

    async def all_of_them() -> list[Score]:
        slots = asyncio.Semaphore(at_a_time)

        async def one(*sample: Any) -> Score:
            async with slots:
                return await compute_score_async(*sample, **options)

        samples = zip(data_sources, solution_strs, ground_truths, extra_infos, strict=True)
        return await asyncio.gather(*(one(*sample) for sample in samples))

    # In a new thread: the caller's may have a running event loop.
    with concurrent.futures.ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, all_of_them()).result()
