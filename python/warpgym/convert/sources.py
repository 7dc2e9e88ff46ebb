"""What the columns of each data set mean, and what becomes of a row: a pair of problem and answer.

A column within another is written with a dot; either may hold JSON as text. A problem's class comes
out as Model and the answer's as ModelNew, whatever they are called in the data set.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from .files import mended

MODEL = "Model"


class Refused(Exception):
    """A row, with the reason."""


@dataclass(frozen=True)
class Source:
    """Columns; "" where a data set has none, and some have problems only. Of `names` and `ids` the
    first that has a value counts."""

    name: str
    reference: str
    answer: str = ""  # a module, or a model's answer around one
    answers: str = ""  # a conversation whose answers of the role "assistant" are such
    best: str = ""  # which of these, from 1; the last one without it
    extension: str = ""  # C++ and CUDA of an extension, called by the module in `answer`
    entry_point: str = ""  # a reference's class; Model without it
    keywords: bool = False  # get_init_inputs returns [arguments, keyword arguments]
    names: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    level: str = ""
    task: str = ""

    def needed(self) -> list[str]:
        columns = [self.reference, self.answer, self.answers, self.extension]
        columns += [self.level, self.task]
        return [column.split(".")[0] for column in columns if column]

    def used(self) -> list[str]:
        columns = [self.best, self.entry_point, *self.names, *self.ids]
        return self.needed() + [column.split(".")[0] for column in columns if column]


# The first whose needed columns a file has.
SOURCES = (
    Source(
        "drkernel-coldstart",  # hkust-nlp/drkernel-coldstart-8k
        reference="original_python_code",
        answers="messages",
        best="best_round",
        entry_point="entry_point",
        names=("module_name",),
        ids=("uuid",),
    ),
    Source(
        "drkernel-rl",  # hkust-nlp/drkernel-rl-data, drkernel-validation-data
        reference="reward_model.ground_truth",
        entry_point="extra_info.entry_point",
        names=("extra_info.module_name", "extra_info.name"),
        ids=("extra_info.uuid", "extra_info.problem_id"),
    ),
    Source(
        "kernelbook",  # GPUMODE/KernelBook
        reference="python_code",
        answer="triton_code",
        entry_point="entry_point",
        keywords=True,
        names=("entry_point", "module_name"),
        ids=("uuid",),
    ),
    Source(
        "archive",  # SakanaAI/AI-CUDA-Engineer-Archive
        reference="PyTorch_Code_Module",
        answer="PyTorch_Code_Functional",
        extension="CUDA_Code",
        names=("Kernel_Name", "Op_Name"),
        level="Level_ID",
        task="Task_ID",
    ),
    Source(
        "kernelbench",  # ScalingIntelligence/KernelBench
        reference="code",
        names=("name",),
        level="level",
        task="problem_id",
    ),
)


@dataclass(frozen=True)
class Pair:
    reference: str
    answer: str  # "": the data set has problems only
    name: str
    id: str  # "": none
    level: int  # of KernelBench, with `task`; -1: none
    task: int


def opened(value: Any) -> Any:
    """What JSON as text holds."""
    if not isinstance(value, str):
        return value
    try:
        return mended(json.loads(value))
    except (ValueError, RecursionError):
        return None


def field(row: dict[str, Any], column: str) -> Any:
    value: Any = row
    for part in column.split("."):
        value = opened(value)
        value = value.get(part) if isinstance(value, dict) else None
    return value


def text(row: dict[str, Any], column: str) -> str:
    value = field(row, column)
    if value is None:
        raise Refused(f"'{column}' is missing or null")
    if not isinstance(value, str):
        raise Refused(f"'{column}' is no text but {type(value).__name__}")
    if not value.strip():
        raise Refused(f"'{column}' is empty")
    return value


def first(row: dict[str, Any], columns: Iterable[str]) -> str:
    values = (field(row, column) for column in columns)
    return next((str(one) for one in values if isinstance(one, (str, int)) and str(one)), "")


def number(row: dict[str, Any], column: str) -> int:
    value = field(row, column) if column else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else -1


def pair(row: dict[str, Any], source: Source) -> Pair:
    entry = first(row, [source.entry_point]) if source.entry_point else MODEL
    entry = entry or MODEL
    if not entry.isidentifier():
        raise Refused(f"'{source.entry_point}' is no name of a class")
    reference = defining(text(row, source.reference), entry, f"'{source.reference}'")
    answer = _answer(row, source, entry)
    if source.extension:
        answer = _calling(answer, text(row, source.extension))
    elif answer:
        answer = _renamed(answer, entry + "New", MODEL + "New", source.keywords)
    return Pair(
        reference=_renamed(reference, entry, MODEL, source.keywords),
        answer=answer,
        name=first(row, source.names),
        id=first(row, source.ids),
        level=number(row, source.level),
        task=number(row, source.task),
    )


def _answer(row: dict[str, Any], source: Source, entry: str) -> str:
    """The module that an answer is, or the last code block of the answer with the class."""
    if source.answers:
        column, said = source.answers, _said(row, source)
    elif source.answer:
        column, said = source.answer, text(row, source.answer)
    else:
        return ""
    wanted = entry if source.extension else entry + "New"
    blocks = re.findall(r"^```[^\n]*\n(.*?)^```", said, re.DOTALL | re.MULTILINE)
    fitting = [block for block in blocks if _class(wanted).search(block)]
    return fitting[-1] if fitting else defining(said, wanted, f"the answer in '{column}'")


def _said(row: dict[str, Any], source: Source) -> str:
    messages = opened(field(row, source.answers))
    messages = messages if isinstance(messages, list) else []
    said = [one.get("content") for one in messages if _is_answer(one)]
    best = number(row, source.best)
    if not said:
        raise Refused(f"'{source.answers}' has no answer of an assistant")
    if best > len(said):
        raise Refused(f"'{source.best}' is {best}, but there are {len(said)} answers")
    return said[best - 1] if best > 0 else said[-1]


def _is_answer(message: Any) -> bool:
    return (
        isinstance(message, dict)
        and message.get("role") == "assistant"
        and isinstance(message.get("content"), str)
    )


def _class(name: str) -> re.Pattern[str]:
    return re.compile(rf"^class\s+{re.escape(name)}\b", re.MULTILINE)


def defining(module: str, name: str, what: str) -> str:
    if not _class(name).search(module):
        raise Refused(f"{what} defines no class {name}")
    return module


KEYWORDS = """\
    def __init__(self, arguments=(), keywords=None):
        super().__init__(*arguments, **(keywords or {}))
"""


def _renamed(module: str, entry: str, name: str, keywords: bool) -> str:
    """With its class `entry` under `name`. What is called that otherwise gets another name."""
    if entry == name and not keywords:
        return module
    module = re.sub(rf"\b{name}\b", f"{name}Base", module)
    entry = f"{name}Base" if entry == name else entry
    body = KEYWORDS if keywords else "    pass\n"
    return f"{module.rstrip()}\n\n\nclass {name}({entry}):\n{body}"


EXTENSION = """\
{module}


import torch.utils.cpp_extension

_extension = torch.utils.cpp_extension.load_inline(
    name="kernel", cpp_sources="", cuda_sources={code}
)


class ModelNew(Model):
    def forward(self, *inputs):
        return super().forward(*inputs, fn=_extension.forward)
"""


def _calling(module: str, code: str) -> str:
    """A Model whose forward takes the function `fn`, called with that of an extension, as the
    archive's own evaluation does."""
    if not re.search(r"def\s+forward\s*\([^)]*\bfn\b", module):
        raise Refused("the module's forward takes no function 'fn'")
    plain = "'''" not in code and not code.endswith(("'", "\\"))
    return EXTENSION.format(module=module.rstrip(), code=f"r'''{code}'''" if plain else repr(code))


def choose(names: list[str], sources: Iterable[Source] = SOURCES) -> Source | None:
    return next((one for one in sources if set(one.needed()) <= set(names)), None)


def of_columns(source: Source | None, columns: dict[str, str]) -> Source:
    """A source with the columns that a person named instead of its own."""
    base = source or Source("columns", reference="reference", answer="candidate")
    given = {key: value for key, value in columns.items() if value}
    lists = {key + "s": (given.pop(key),) for key in ("name", "id") if key in given}
    if "answer" in given:
        given |= {"answers": "", "extension": ""}
    return replace(base, **given, **lists)
