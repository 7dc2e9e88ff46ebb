"""python3 -m warpgym.convert: reads data sets, writes a batch of `warpgym eval` and problems."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Iterator
from typing import TextIO

from . import files, sources

SHOWN = 10  # refused rows, in full
LEVELS_MOST = 99
NAME_BYTES = 80


class Problems:
    """A directory of problems for `--problems`: levelN/ID_NAME.py as KernelBench has them, else
    torch/NAME.py. A reference is written once; another one under its name gets a number."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.ids: dict[str, str] = {}  # of a reference
        self.taken: set[str] = set()

    def add(self, pair: sources.Pair) -> str:
        """The problem's id."""
        if pair.reference not in self.ids:
            path, made = self._free(pair)
            self.ids[pair.reference] = made
            self.taken.add(made)
            whole = os.path.join(self.directory, path)
            os.makedirs(os.path.dirname(whole), exist_ok=True)
            with open(whole, "w", encoding="utf-8") as file:
                file.write(pair.reference)
        return self.ids[pair.reference]

    def _free(self, pair: sources.Pair) -> tuple[str, str]:
        made = f"level{pair.level}/{pair.task}"
        if 0 <= pair.level <= LEVELS_MOST and pair.task >= 0 and made not in self.taken:
            name = plain_name(re.sub(r"^\d+_|\.py$", "", pair.name)) or "problem"
            return f"{made}_{name}.py", made
        name = plain_name(pair.name) or "problem"
        made, count = f"torch/{name}", 1
        while made in self.taken:
            count += 1
            made = f"torch/{name}_{count}"
        return f"{made}.py", made


class Converter:
    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.problems = Problems(options.problems) if options.problems else None
        self.references: set[str] = set()
        self.ids: set[str] = set()
        self.rows = self.answers = self.refused = self.skipped = self.unreadable = 0

    def read(self, path: str) -> Iterator[tuple[files.Row, sources.Source | None]]:
        source: sources.Source | None = None

        def columns(names: list[str]) -> list[str]:
            nonlocal source
            source = self._source(names)
            also = [key.split(".")[0] for key, _ in self.options.where]
            return [name for name in dict.fromkeys(source.used() + also) if name in names]

        for row in files.rows(path, columns):
            yield row, source

    def _source(self, names: list[str]) -> sources.Source:
        options = self.options
        given = {key: getattr(options, key) for key in ("reference", "answer", *LABELS)}
        named = any(given.values())
        base = next((one for one in sources.SOURCES if one.name == options.source), None)
        if not base and not options.reference:
            base = sources.choose(names)
        if not base and not named:
            known = ", ".join(one.name for one in sources.SOURCES)
            raise files.Unreadable(
                f"its columns ({', '.join(sorted(names)[:12])}) are those of no known data set "
                f"({known}): name them with --reference and --candidate"
            )
        source = sources.of_columns(base, given) if named else base
        assert source
        away = [column for column in source.needed() if column not in names]
        if away:
            raise files.Unreadable(
                f"has no column {', '.join(away)}; it has {', '.join(sorted(names)[:12])}"
            )
        return source

    def convert(self, path: str, batch: TextIO | None) -> None:
        for row, source in self.read(path):
            self.rows += 1
            try:
                if row.error or not source:
                    raise sources.Refused(row.error)
                if not all(matches(row, key, value) for key, value in self.options.where):
                    self.skipped += 1
                    continue
                self._write(sources.pair(row.values, source), row, source, batch)
            except sources.Refused as error:
                self._refuse(f"{row.where}: {error}")
            if self.full():
                return

    def full(self) -> bool:
        return 0 < self.options.limit <= len(self.references)

    def _refuse(self, text: str) -> None:
        self.refused += 1
        if self.options.strict:
            raise files.Unreadable(text)
        if self.refused <= SHOWN:
            print(f"left out: {text}", file=sys.stderr)
        elif self.refused == SHOWN + 1:
            print("left out: more rows, which are counted only", file=sys.stderr)

    def _write(
        self, pair: sources.Pair, row: files.Row, source: sources.Source, batch: TextIO | None
    ) -> None:
        self.references.add(pair.reference)
        problem = self.problems.add(pair) if self.problems else None
        if not pair.answer or not batch:
            return
        place = f"{os.path.basename(row.where)}"
        name = plain_name(pair.name) or source.name
        line = {
            "problem": problem or {"format": "torch", "source": pair.reference},
            "name": f"{name}/{place}.py",
            "id": self._id(f"{source.name}-{pair.id}" if pair.id else place, place),
        }
        answer = {"source": pair.answer}
        line |= answer if problem else {"candidate": answer}
        batch.write(json.dumps(line, ensure_ascii=False) + "\n")
        self.answers += 1

    def _id(self, wanted: str, place: str) -> str:
        wanted = plain_name(wanted)
        made, count = wanted, 1
        while made in self.ids:
            count += 1
            made = f"{wanted}-{count}"
        self.ids.add(made)
        return made

    def summary(self) -> str:
        parts = [f"{self.rows} rows: {len(self.references)} problems"]
        if self.problems:
            parts.append(f" in {self.options.problems}")
        if self.options.batch:
            parts.append(f", {self.answers} answers in {self.options.batch}")
        if self.skipped:
            parts.append(f", {self.skipped} that --where leaves out")
        return "".join(parts) + (f", {self.refused} rows refused" if self.refused else "")


def plain_name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.:-]+", "_", text).strip("_.")[:NAME_BYTES]


def matches(row: files.Row, column: str, wanted: str) -> bool:
    value = sources.field(row.values, column)
    return (str(value).lower() if isinstance(value, bool) else str(value)) == wanted


def condition(text: str) -> tuple[str, str]:
    column, equals, value = text.partition("=")
    if not column or not equals:
        raise argparse.ArgumentTypeError("write COLUMN=VALUE")
    return column, value


LABELS = ("entry_point", "name", "id")


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python3 -m warpgym.convert",
        description="Makes problems and a batch for `warpgym eval` out of data sets.",
        epilog="docs/guide/datasets.md has the data sets, their columns and examples.",
    )
    names = [one.name for one in sources.SOURCES]
    kinds = ", ".join(f"*{ending}" for ending in files.READERS)
    parser.add_argument("paths", nargs="+", metavar="PATH", help=f"{kinds} files, or directories")
    parser.add_argument("--batch", metavar="FILE.jsonl", help="write the answers to this batch")
    parser.add_argument("--problems", metavar="DIR", help="write the problems below DIR")
    parser.add_argument("--source", choices=names, help="the data set (default: by its columns)")
    column = {"metavar": "COLUMN", "default": ""}
    parser.add_argument("--reference", **column, help="the PyTorch module of the problem")
    parser.add_argument("--candidate", **column, dest="answer", help="the answer")
    parser.add_argument("--entry-point", **column, help="the name of the reference's class")
    parser.add_argument("--name", **column, help="what answers are called")
    parser.add_argument("--id", **column, help="the verdict's id")
    where = {"metavar": "COLUMN=VALUE", "type": condition, "action": "append", "default": []}
    parser.add_argument("--where", **where, help="only rows with this value; may be repeated")
    parser.add_argument("--limit", metavar="N", type=int, default=0, help="stop after N problems")
    parser.add_argument("--strict", action="store_true", help="end at the first refused row")
    options = parser.parse_args(arguments)
    if not options.batch and not options.problems:
        parser.error("give --batch FILE.jsonl, --problems DIR, or both")
    return options


def run(converter: Converter, batch: TextIO) -> None:
    for path in files.find(converter.options.paths):
        if converter.full():
            return
        try:
            converter.convert(path, batch if converter.options.batch else None)
        except files.Unreadable as error:
            if converter.options.strict:
                raise
            converter.unreadable += 1
            print(f"left out: {error}", file=sys.stderr)


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    converter = Converter(options)
    part = f"{options.batch}.part" if options.batch else os.devnull
    try:
        with open(part, "w", encoding="utf-8") as batch:
            run(converter, batch)
        if options.batch:
            os.replace(part, options.batch)
    except (files.Unreadable, OSError) as error:
        print(f"warpgym.convert: {error}", file=sys.stderr)
        return 1
    print(converter.summary())
    if options.batch and not converter.answers:
        print("warpgym.convert: no row has an answer", file=sys.stderr)
    wanted = converter.answers if options.batch else len(converter.references)
    return 0 if wanted and not converter.unreadable else 1
