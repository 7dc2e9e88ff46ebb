"""Requests as the server accepts them, and problems as text."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

ANSWER_BYTES = 4 << 20  # the server reads no more of an answer
ESCAPED_BYTES = 7 << 20  # of an answer as JSON: two of them fit into a request
NO_TEXT = re.compile("[\0\ud800-\udfff]")


def as_text(written: str | bytes | None) -> str:
    """What a model wrote, as text that a server takes: NULs, halves of surrogate pairs and bytes
    that are no UTF-8 become U+FFFD, None becomes "". What is far too long to be judged is cut some
    bytes behind what the server reads, which the server then reports."""
    if isinstance(written, bytes):
        written = written.decode("utf-8", "replace")
    text = NO_TEXT.sub("\ufffd", (written or "")[: ANSWER_BYTES + 1])
    text = text.encode()[: ANSWER_BYTES + 4].decode("utf-8", "ignore")
    while len(json.dumps(text)) > ESCAPED_BYTES:
        text = text[: len(text) // 2]
    return text


def torch_problem(source: str, entry_point: str = "Model") -> dict[str, Any]:
    """A KernelBench-style module; candidates define the class `entry_point` + "New"."""
    return {"format": "torch", "source": source, "entry_point": entry_point}


def native_problem(yaml: str, source: str, cuda: str | None = None) -> dict[str, Any]:
    """problem.yaml, reference.c and reference.cu, as texts."""
    problem = {"format": "native", "yaml": yaml, "source": source}
    return problem if cuda is None else problem | {"cuda": cuda}


def simple_problem(
    cases: str | list[Any] | None = None, entry_point: str = "ModelNew", compare: bool = True
) -> dict[str, Any]:
    """No reference: `cases` is a module's text or a list; None: the candidate provides them."""
    problem = {"format": "simple", "entry_point": entry_point, "compare": compare}
    return problem if cases is None else problem | {"cases": cases}


def draw_id() -> str:
    return uuid.uuid4().hex


def request(
    problem: str | Mapping[str, Any],
    candidate: str | bytes | Mapping[str, Any],
    *,
    id: str | None = None,
    name: str | None = None,
    language: str | None = None,
    settings: Mapping[str, Any] | None = None,
    timing: bool = True,
    timeout_s: float | None = None,
    priority: str | None = None,
    fresh: bool = False,
    notes: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """One evaluation. `problem`: an id of the server's, or a whole problem from the functions
    above; `candidate`: its text. The suffix of `name` gives its language (`warpgym languages`);
    `timeout_s` bounds the judging; the server stores `notes` and returns them."""
    made: dict[str, Any] = {"id": id or draw_id()}
    made["problem"] = {"id": problem} if isinstance(problem, str) else dict(problem)
    made["candidate"] = dict(candidate) if isinstance(candidate, Mapping) else {"source": candidate}
    if "source" in made["candidate"]:
        made["candidate"]["source"] = as_text(made["candidate"]["source"])
    if name is not None:
        made["candidate"]["name"] = name
    if language is not None:
        made["candidate"]["language"] = language
    if settings:
        made["settings"] = dict(settings)
    if not timing:
        made["timing"] = False
    if timeout_s is not None:
        made["timeout_ms"] = max(1, round(timeout_s * 1000))
    if priority is not None:
        made["priority"] = priority
    if fresh:
        made["fresh"] = True
    if notes is not None:
        made["notes"] = dict(notes)
    return made


def with_id(item: Mapping[str, Any]) -> dict[str, Any]:
    return dict(item) if item.get("id") else dict(item) | {"id": draw_id()}


def episode_request(
    problem: str | Mapping[str, Any],
    *,
    id: str | None = None,
    language: str | None = None,
    turns: int | None = None,
    gamma: float | None = None,
    reward: str | Mapping[str, Any] | None = None,
    stop_speedup: float | None = None,
    stop_correct: bool | None = None,
    prompt: Mapping[str, Any] | None = None,
    evaluation: Mapping[str, Any] | None = None,
    expires_s: float | None = None,
    notes: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The configuration of an episode (docs/guide/gym.md); None takes the server's setting.
    `problem`: an id of the server, or the result of a function above."""
    given = {
        "language": language,
        "turns": turns,
        "gamma": gamma,
        "reward": reward,
        "stop_speedup": stop_speedup,
        "stop_correct": stop_correct,
        "prompt": prompt,
        "evaluation": evaluation,
        "expires_s": expires_s,
        "notes": notes,
    }
    made: dict[str, Any] = {"id": id or draw_id()}
    made["problem"] = {"id": problem} if isinstance(problem, str) else plain(problem)
    for key, value in given.items():
        if value is not None:
            made[key] = plain(value)
    return made


def plain(value: Any) -> Any:
    """As the json module takes it: configurations are often mappings and lists of other types."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(item) for item in value]
    return value


def answer_request(
    turn: int,
    answer: str | bytes | None,
    *,
    reasoning: str | bytes | None = None,
    usage: Mapping[str, Any] | None = None,
    logprobs: Sequence[Any] | None = None,
    finish: str | None = None,
    model: str | None = None,
) -> dict[str, Any]:
    """The answer to a turn of an episode, whatever a model wrote (`as_text`), and the data of its
    generation."""
    given = {
        "reasoning": as_text(reasoning) if reasoning else None,
        "usage": usage,
        "logprobs": logprobs,
        "finish": finish,
        "model": model,
    }
    made = {"turn": turn, "answer": as_text(answer)}
    return made | {key: value for key, value in given.items() if value is not None}
