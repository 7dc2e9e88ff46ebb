"""Rows of JSON lines, Parquet and Arrow files, as dictionaries. Their bytes may be anything: what
is no text becomes U+FFFD, a row that cannot be read is a Row with an error, and only a file that
cannot be read at all raises Unreadable."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

BATCH_ROWS = 64
REPLACEMENT = "\ufffd"


class Unreadable(Exception):
    """A file, with the reason."""


class Row(NamedTuple):
    where: str  # "FILE:7", from 1
    values: dict[str, Any]
    error: str = ""


def find(paths: list[str]) -> list[str]:
    """Files, and those below directories that have a known ending, by their names."""
    found = []
    for path in paths:
        if not os.path.isdir(path):
            found.append(path)
            continue
        below = [
            os.path.join(folder, name)
            for folder, _, names in os.walk(path)
            for name in names
            if name.endswith(tuple(READERS))
        ]
        if not below:
            raise Unreadable(f"{path}: holds no {', '.join(READERS)} file")
        found += sorted(below)
    return found


def rows(path: str, columns: Callable[[list[str]], list[str]]) -> Iterator[Row]:
    """`columns` is given the names of a file's columns and picks those to read, or raises
    Unreadable. It is called once, of JSON lines until it has picked."""
    reader = next((READERS[end] for end in READERS if path.endswith(end)), None)
    if not reader:
        raise Unreadable(f"{path}: its name ends in none of {', '.join(READERS)}")
    try:
        yield from reader(path, columns)
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror or error}") from None


def mended(value: Any) -> Any:
    """NULs and halves of surrogate pairs become U+FFFD."""
    if isinstance(value, str):
        text = value.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
        return text.replace("\0", REPLACEMENT)
    if isinstance(value, dict):
        return {key: mended(one) for key, one in value.items()}
    return [mended(one) for one in value] if isinstance(value, list) else value


def _json_lines(path: str, columns: Callable[[list[str]], list[str]]) -> Iterator[Row]:
    wanted = None
    with open(path, "rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            where = f"{path}:{number}"
            try:
                values = json.loads(line.decode("utf-8-sig", "replace"))
            except (ValueError, RecursionError) as error:
                yield Row(where, {}, f"no JSON: {error}")
                continue
            if not isinstance(values, dict):
                yield Row(where, {}, "an object is expected")
                continue
            try:
                wanted = wanted or columns(list(values))
            except Unreadable as error:
                yield Row(where, {}, str(error))
                continue
            yield Row(where, mended(values))


def _arrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise Unreadable("Parquet and Arrow files need pyarrow: pip install pyarrow") from None
    return pyarrow


def _parquet(path: str, columns: Callable[[list[str]], list[str]]) -> Iterator[Row]:
    pyarrow = _arrow()
    try:
        file = pyarrow.parquet.ParquetFile(path)
        wanted = _picked(path, columns, file.schema_arrow.names)
        batches = file.iter_batches(batch_size=BATCH_ROWS, columns=wanted)
        yield from _batches(path, batches, wanted, pyarrow)
    except (pyarrow.ArrowException, ValueError) as error:
        raise Unreadable(f"{path}: no Parquet: {_first_line(error)}") from None


def _stream(path: str, columns: Callable[[list[str]], list[str]]) -> Iterator[Row]:
    """What `datasets` keeps in its cache and writes by save_to_disk."""
    pyarrow = _arrow()
    try:
        with pyarrow.memory_map(path) as source, pyarrow.ipc.open_stream(source) as batches:
            wanted = _picked(path, columns, batches.schema.names)
            yield from _batches(path, batches, wanted, pyarrow)
    except (pyarrow.ArrowException, ValueError) as error:
        raise Unreadable(f"{path}: no Arrow stream: {_first_line(error)}") from None


def _picked(path: str, columns: Callable[[list[str]], list[str]], names: list[str]) -> list[str]:
    try:
        return columns(names)
    except Unreadable as error:
        raise Unreadable(f"{path}: {error}") from None


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _batches(path: str, batches: Any, wanted: list[str], pyarrow: Any) -> Iterator[Row]:
    number = 0
    for batch in batches:
        for i in range(batch.num_rows):
            number += 1
            values = {key: mended(_value(batch.column(key)[i], pyarrow)) for key in wanted}
            yield Row(f"{path}:{number}", values)


def _value(scalar: Any, pyarrow: Any) -> Any:
    """as_py() raises where a text is no UTF-8."""
    if not scalar.is_valid:
        return None
    if isinstance(scalar, pyarrow.BinaryScalar):  # and texts
        return scalar.as_buffer().to_pybytes().decode("utf-8", "replace")
    if isinstance(scalar, pyarrow.DictionaryScalar):
        return _value(scalar.value, pyarrow)
    if isinstance(scalar, pyarrow.StructScalar):
        return {field.name: _value(scalar[i], pyarrow) for i, field in enumerate(scalar.type)}
    if isinstance(scalar, pyarrow.ListScalar):  # and large lists
        return [_value(one, pyarrow) for one in scalar.values]
    return scalar.as_py()


READERS = {".jsonl": _json_lines, ".parquet": _parquet, ".arrow": _stream}
