"""`warpgym runs sync`: copies a training run to a tracker, while it runs or afterwards.

    warpgym runs sync runs/first --to wandb --project kernels
    python3 -m warpgym.sync runs/first --to mlflow --follow

RUN/sync.json remembers, for each tracker, its run and the last step that it has: another call goes
on behind it, in the same run. Steps that a resumed run repeats have the same numbers, and are not
sent again.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import os
import pathlib
import signal
import struct
import sys
import threading
from collections.abc import Iterator
from typing import Any, NoReturn

from .trackers import TRACKERS, Run, Table, open_tracker

STATE = "sync.json"
FLOCK = "hhqqi"  # struct flock of Linux on 64 bits
INFRASTRUCTURE = 3  # exit status, as of the other commands
CUT = 4000  # characters of an answer in a table
TURNS = ("problem", "rollout", "turn", "reward", "status", "speedup", "answer")
EPISODES = ("problem", "sample", "turns", "solved", "speedup", "return", "answer")


class Lines:
    """Complete lines of a growing file, each once; from its start again where it was cut."""

    def __init__(self, path: pathlib.Path):
        self.path, self.offset, self.number = path, 0, 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        if not self.path.exists():
            return
        with self.path.open("rb") as file:
            if os.fstat(file.fileno()).st_size < self.offset:
                self.offset = self.number = 0
            file.seek(self.offset)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                self.offset += len(line)
                self.number += 1
                try:
                    yield json.loads(line)
                except ValueError as error:
                    sys.exit(f"warpgym: {self.path}:{self.number}: {error}")


def read_settings(path: pathlib.Path) -> dict[str, Any]:
    """Of a run's config.yaml, as `warpgym train` writes it: {"train.seed": 1, …}."""
    found, section = {}, ""
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        name, _, rest = line.partition(":")
        if not line.startswith(" "):
            section = name
            continue
        value = rest.rpartition(" # ")[0].strip()
        try:
            found[f"{section}.{name.strip()}"] = json.loads(value)
        except ValueError:
            found[f"{section}.{name.strip()}"] = value
    return found


def speedup_of(verdict: dict[str, Any] | None) -> float | None:
    return ((verdict or {}).get("timing") or {}).get("speedup")


def turn_row(turn: dict[str, Any]) -> list[Any]:
    verdict = turn["verdict"]
    status = verdict["status"] if verdict else "no code"
    own = [turn["problem"], turn["rollout"], turn["turn"], turn["reward"]]
    return [*own, status, speedup_of(verdict), turn["answer"][:CUT]]


def episode_row(episode: dict[str, Any]) -> list[Any]:
    turns, best = episode["turns"], episode["best_turn"]
    answer = turns[best]["answer"][:CUT] if turns else ""
    own = [episode["problem"], episode["sample"], len(turns), episode["solved"]]
    return [*own, episode["best_speedup"], episode["return"], answer]


class Source:
    """What a run's files say of steps that come behind `step`."""

    def __init__(self, directory: pathlib.Path, step: int, most: int):
        self.directory, self.step, self.most = directory, step, most
        self.metrics = Lines(directory / "metrics.jsonl")
        self.traces = Lines(directory / "traces.jsonl")
        self.waiting: list[dict[str, Any]] = []  # turns of steps that have no metrics yet

    def tables(self, step: int) -> list[Table]:
        self.waiting += self.traces
        turns = [turn for turn in self.waiting if turn["step"] == step][: self.most]
        self.waiting = [turn for turn in self.waiting if turn["step"] > step]
        found = [Table("turns", TURNS, [turn_row(turn) for turn in turns])] if turns else []
        played = self.directory / "evaluations" / f"step-{step:06}.jsonl"
        episodes = [episode_row(episode) for episode in Lines(played)]
        return found + ([Table("evaluation", EPISODES, episodes)] if episodes else [])

    def steps(self) -> Iterator[tuple[int, dict[str, float], list[Table]]]:
        for line in self.metrics:
            step = line.pop("step")
            if step <= self.step:
                continue
            self.step = step
            values = {name: value for name, value in line.items() if value is not None}
            yield step, values, self.tables(step)


def is_running(directory: pathlib.Path) -> bool:
    """Whether a process holds the run's lock, which is asked, not tried."""
    request = struct.pack(FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    try:
        with (directory / "lock").open("rb") as file:
            held = fcntl.fcntl(file, fcntl.F_GETLK, request)
    except FileNotFoundError:
        return False
    return bool(struct.unpack(FLOCK, held)[0] != fcntl.F_UNLCK)


class State:
    """RUN/sync.json: {TRACKER: {"id", "step"}}."""

    def __init__(self, directory: pathlib.Path, tracker: str):
        self.path, self.tracker = directory / STATE, tracker
        try:
            self.all = json.loads(self.path.read_text(encoding="utf-8"))
            mine = self.all.setdefault(tracker, {})
            self.id, self.step = mine.get("id"), int(mine.get("step", -1))
        except FileNotFoundError:
            self.all, self.id, self.step = {}, None, -1
        except (ValueError, AttributeError, TypeError):
            sys.exit(f"warpgym: {self.path} is damaged; without it the run is sent anew")

    def save(self, run: str, step: int) -> None:
        self.all[self.tracker] = {"id": run, "step": step}
        part = self.path.with_suffix(".part")
        part.write_text(json.dumps(self.all) + "\n", encoding="utf-8")
        part.replace(self.path)


def copy(options: argparse.Namespace, stop: threading.Event) -> int:
    """The number of steps that were sent. Once `stop` is set, no other step is begun."""
    directory, name = options.run, options.name or options.run.resolve().name
    state = State(directory, options.to)
    settings = read_settings(directory / "config.yaml")
    run = Run(options.project, name, state.id, settings)
    source, sent = Source(directory, state.step, options.turns), 0
    with foreign(options.to):
        tracker = open_tracker(options.to, run)
    state.save(tracker.id, state.step)
    try:
        while True:
            running = options.follow and is_running(directory)
            for step, values, tables in source.steps():
                if stop.is_set():
                    raise KeyboardInterrupt
                with foreign(options.to):
                    tracker.log(step, values, tables)
                state.save(tracker.id, step)
                sent += 1
            if stop.is_set():
                raise KeyboardInterrupt
            if not running:
                return sent
            stop.wait(options.interval)
    finally:
        with foreign(options.to):
            tracker.finish()


@contextlib.contextmanager
def foreign(tracker: str) -> Iterator[None]:
    """What a package raises, as one sentence."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name == TRACKERS[tracker].package:
            sys.exit(f"warpgym: {sys.executable} has no package {tracker}: pip install {tracker}")
        fail(tracker, error)
    except Exception as error:  # any: the package is not ours
        fail(tracker, error)


def fail(tracker: str, error: Exception) -> NoReturn:
    lines = str(error).split("\n")
    print(f"warpgym: {tracker}: {lines[0] or type(error).__name__}", file=sys.stderr)
    sys.exit(INFRASTRUCTURE)


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="warpgym runs sync", description="Copies a training run to a tracker."
    )
    parser.add_argument("run", type=pathlib.Path, metavar="RUN", help="the run's directory")
    parser.add_argument("--to", choices=TRACKERS, required=True, help="the tracker's package")
    parser.add_argument("--project", default="warpgym", help="of the tracker (warpgym)")
    parser.add_argument("--name", help="the run's name there (its directory's)")
    parser.add_argument("--follow", action="store_true", help="until the run ends")
    parser.add_argument("--interval", type=float, default=5, metavar="S", help="between looks (5)")
    parser.add_argument(
        "--turns", type=int, default=16, metavar="N", help="of each step, in its table (16)"
    )
    options = parser.parse_args(arguments)
    if not (options.run / "metrics.jsonl").exists() and not options.follow:
        parser.error(f"{options.run} has no metrics.jsonl: not a training run, or not begun")
    if not options.interval > 0 or options.turns < 0:
        parser.error("--interval must be above 0, and --turns not negative")
    return options


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    try:
        sent = copy(options, stop)
    except KeyboardInterrupt:
        print("warpgym: stopped; another call goes on from here", file=sys.stderr)
        return 130
    print(f"warpgym: {options.run}: {sent} steps sent to {options.to}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
