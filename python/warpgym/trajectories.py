"""Trajectories (docs/reference/trajectories.md): reads and selects them, and makes rows for
trainers.

    from warpgym import trajectories

    episodes = list(trajectories.read("run/trajectories.jsonl"))
    rows = trajectories.sft(episodes, solved=True)          # {"messages": […]}, for any SFT trainer
    rows = trajectories.sft(episodes, turns="best", min_speedup=1.5)
    trajectories.write("sft.jsonl", rows)
    dataset = trajectories.dataset("run/trajectories.jsonl")  # needs Hugging Face's `datasets`

`datasets.load_dataset("json", data_files="run/trajectories.jsonl")` reads them as they are.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

SCHEMA = 1

Trajectory = dict[str, Any]
Path = str | os.PathLike[str]


class Malformed(ValueError):
    """A line is not a trajectory; names the file and the line."""


def read(*paths: Path) -> Iterator[Trajectory]:
    """One by one, in the order of the files. An incomplete last line, as a killed run leaves it, is
    skipped; any other line that is not a trajectory raises Malformed."""
    for path in paths:
        with open(path, encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if not line.endswith("\n"):
                    break
                if line.strip():
                    yield parse(line, f"{os.fspath(path)}:{number}")


def parse(line: str, where: str = "trajectory") -> Trajectory:
    try:
        trajectory = json.loads(line)
    except ValueError as error:
        raise Malformed(f"{where}: no JSON: {error}") from None
    if not isinstance(trajectory, dict) or not {"messages", "turns"} <= trajectory.keys():
        raise Malformed(f"{where}: no trajectory: an object with messages and turns is expected")
    if trajectory.get("schema") != SCHEMA:
        raise Malformed(f"{where}: schema {trajectory.get('schema')!r}; this reads {SCHEMA}")
    return trajectory


def write(path: Path, rows: Iterable[Mapping[str, Any]]) -> int:
    """Writes lines of JSON and returns their number. The file appears once it is complete."""
    count, part = 0, f"{os.fspath(path)}.part"
    with open(part, "w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            count += 1
    os.replace(part, path)
    return count


def sft(
    trajectories: Iterable[Mapping[str, Any]],
    *,
    turns: str = "conversation",
    solved: bool = True,
    min_speedup: float = 0.0,
    min_return: float | None = None,
) -> Iterator[dict[str, list[dict[str, str]]]]:
    """Rows {"messages": [{"role", "content"}, …]} for supervised fine-tuning.

    `turns`: "conversation" gives one row an episode, up to its best turn (all of it where no turn
    was correct); "best" the prompt and answer of its best turn alone; "correct" those of each
    correct turn. `solved` leaves out episodes without a correct turn; `min_speedup` (times as fast
    as the reference) is held against the best turn's, or with "correct" each one's; `min_return`
    against that of the first turn.
    """
    if turns not in ("conversation", "best", "correct"):
        raise ValueError(f"turns {turns!r}: give 'conversation', 'best' or 'correct'")
    for trajectory in trajectories:
        if solved and not trajectory["solved"]:
            continue
        if min_return is not None and trajectory["return"] < min_return:
            continue
        if turns == "correct":
            chosen = [one for one in trajectory["turns"] if one["correct"]]
            yield from (row_of(one) for one in chosen if one["speedup"] >= min_speedup)
        elif trajectory["best_speedup"] >= min_speedup:
            best = trajectory["best_turn"]
            if turns == "best" and best >= 0:
                yield row_of(trajectory["turns"][best])
            elif turns == "conversation":
                yield {"messages": up_to_best(trajectory)}


def row_of(turn: Mapping[str, Any]) -> dict[str, list[dict[str, str]]]:
    answer = {"role": "assistant", "content": turn["answer"]}
    return {"messages": [*turn["prompt"], answer]}


def up_to_best(trajectory: Mapping[str, Any]) -> list[dict[str, str]]:
    """The conversation up to the answer of its best turn, or of its last if none was correct. The
    first prompt may hold an answer, too: the candidate that the episode began with."""
    messages, turns, best = trajectory["messages"], trajectory["turns"], trajectory["best_turn"]
    answers = [i for i, one in enumerate(messages) if one["role"] == "assistant"]
    if not turns or len(answers) < len(turns):
        return messages
    later = len(turns) - 1 - best if best >= 0 else 0
    return messages[: answers[-1 - later] + 1]


def dataset(*paths: Path) -> Any:
    """A `datasets.Dataset` of whole trajectories, one row an episode. ImportError without that
    package."""
    import datasets

    files = [os.fspath(path) for path in paths]
    return datasets.load_dataset("json", data_files=files, split="train")
