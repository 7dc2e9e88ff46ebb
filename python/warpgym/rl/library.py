"""libwarpgym_rl.so (include/warpgym_rl.h) through ctypes, which releases Python's lock in calls."""

import ctypes
import functools
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

NAME = "libwarpgym_rl.so"
VERSION = 1
ERROR_BYTES = 768

Doubles = ctypes.POINTER(ctypes.c_double)
Floats = ctypes.POINTER(ctypes.c_float)
Numbers = ctypes.POINTER(ctypes.c_int64)
Bytes = ctypes.POINTER(ctypes.c_uint8)
Put = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_double)


class Error(ctypes.Structure):
    _fields_ = [("text", ctypes.c_char * ERROR_BYTES)]


class SettingRow(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("kind", ctypes.c_char_p),
        ("standard", ctypes.c_char_p),
        ("help", ctypes.c_char_p),
        ("low", ctypes.c_double),
        ("high", ctypes.c_double),
    ]


class Rows(ctypes.Structure):
    _fields_ = [
        ("rows", ctypes.c_size_t),
        ("tokens", ctypes.c_size_t),
        ("prompt", Numbers),
        ("rollout", Numbers),
        ("turn", Numbers),
        ("reward", Doubles),
        ("correct", Bytes),
        ("speedup", Doubles),
        ("coverage", Doubles),
        ("baseline", Doubles),
        ("offset", Numbers),
        ("mask", Bytes),
        ("trained", Floats),
        ("sampled", Floats),
        ("base", Floats),
        ("collision", Floats),
        ("value", Floats),
        ("top", Floats),
    ]


class Options(ctypes.Structure):
    _fields_ = [
        ("settings", ctypes.POINTER(ctypes.c_char_p)),
        ("gamma", ctypes.c_double),
        ("seed", ctypes.c_uint64),
        ("step", ctypes.c_uint64),
        ("prompts", ctypes.c_size_t),
        ("samples", ctypes.c_size_t),
        ("turns", ctypes.c_size_t),
        ("wanted", ctypes.c_size_t),
        ("rollouts", ctypes.c_size_t),
    ]


class Result(ctypes.Structure):
    _fields_ = [
        ("returns", Doubles),
        ("advantage", Doubles),
        ("drop", ctypes.POINTER(ctypes.c_uint32)),
        ("kept", Bytes),
        ("importance", Doubles),
        ("weight", Doubles),
        ("token_advantage", Doubles),
        ("kl", ctypes.c_double),
        ("put", Put),
        ("context", ctypes.c_void_p),
    ]


class RewardParts(ctypes.Structure):
    _fields_ = [("excluded", ctypes.c_int)] + [
        (name, ctypes.c_double)
        for name in (
            "total",
            "format",
            "compile",
            "correctness",
            "speed",
            "length",
            "thinking",
            "coverage",
        )
    ]


class Tokens(ctypes.Structure):
    _fields_ = [
        ("tokens", ctypes.c_size_t),
        ("trained", Floats),
        ("sampled", Floats),
        ("advantage", Floats),
        ("weight", Floats),
        ("entropy", Floats),
    ]


def candidates():
    """Where the library may lie: as named, in the wheel, in the checkout, beside the program."""
    named = os.environ.get("WARPGYM_RL_LIBRARY")
    if named:
        return [Path(named)]
    here = Path(__file__).resolve()
    native = here.parents[1] / "native" / "build" / NAME
    found = [here.parent / NAME, native, here.parents[3] / "build" / NAME]
    program = shutil.which("warpgym")
    return found + ([Path(program).resolve().parent / "build" / NAME] if program else [])


def _declare(library):
    returns, takes = ctypes.c_int, ctypes.POINTER
    text = ctypes.c_char_p
    declarations = {
        "version": (returns, []),
        "setting": (returns, [ctypes.c_size_t, takes(SettingRow)]),
        "word": (text, [text, ctypes.c_size_t]),
        "fact": (text, [ctypes.c_size_t]),
        "reward_field": (text, [ctypes.c_size_t, Doubles]),
        "step": (returns, [takes(Rows), takes(Options), takes(Result), takes(Error)]),
        "reward": (returns, [text, text, text, takes(RewardParts), takes(Error)]),
        "loss": (
            returns,
            [takes(text), takes(Tokens), Floats, Put, ctypes.c_void_p, takes(Error)],
        ),
    }
    for name, (result, arguments) in declarations.items():
        function = getattr(library, "warpgym_rl_" + name)
        function.restype, function.argtypes = result, arguments


@functools.cache
def load():
    """The library, once for the process."""
    places = candidates()
    path = next((place for place in places if place.is_file()), None)
    if path is None:
        raise ImportError(
            f"{NAME} is not in {', '.join(str(place.parent) for place in places)}: run `make` in a "
            "checkout of warpgym, or set WARPGYM_RL_LIBRARY to the file"
        )
    library = ctypes.CDLL(str(path))
    library.warpgym_rl_version.restype = ctypes.c_int
    if library.warpgym_rl_version() != VERSION:
        raise ImportError(
            f"{path} has version {library.warpgym_rl_version()} of the library, and this package "
            f"needs {VERSION}: take both from one release"
        )
    _declare(library)
    return library


def check(status, error):
    if status != 0:
        raise ValueError(error.text.decode(errors="replace"))


def _texts(read):
    index = 0
    while (text := read(index)) is not None:
        yield text.decode()
        index += 1


def names(kind):
    """The words of a list: of a setting ("method", "estimator", "returns", "loss", …), "reward",
    "coverage_measure", "drop"."""
    words = tuple(_texts(lambda index: load().warpgym_rl_word(kind.encode(), index)))
    if not words:
        raise ValueError(f"there is no list of names called {kind!r}")
    return words


@dataclass(frozen=True)
class Setting:
    name: str
    kind: str  # "word", "number", "whole number"
    standard: str
    help: str
    low: float
    high: float
    words: tuple[str, ...]  # of a word


def settings():
    """All settings of a step, each with its name, bounds or words, and meaning."""
    found = []
    row = SettingRow()
    while load().warpgym_rl_setting(len(found), ctypes.byref(row)) == 0:
        name, kind = row.name.decode(), row.kind.decode()
        found.append(
            Setting(
                name,
                kind,
                row.standard.decode(),
                row.help.decode(),
                row.low,
                row.high,
                names(name) if kind == "word" else (),
            )
        )
    return tuple(found)


def facts():
    """Names of what `reward` may know of an answer."""
    return tuple(_texts(lambda index: load().warpgym_rl_fact(index)))


def reward_fields():
    """{name: standard} of the fields of a reward's configuration."""
    standard = ctypes.c_double()
    read = load().warpgym_rl_reward_field
    fields = {}
    while (name := read(len(fields), ctypes.byref(standard))) is not None:
        fields[name.decode()] = standard.value
    return fields


def assignments(given):
    """KEY=VALUE of keyword arguments, as C has them; None is left out."""
    texts = []
    for name, one in given.items():
        if one is None:
            continue
        value = one.item() if hasattr(one, "item") else one
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise ValueError(f"{name} is {value!r}; give a word or a number")
        texts.append(f"{name}={value!r}" if isinstance(value, float) else f"{name}={value}")
    list_type = ctypes.c_char_p * (len(texts) + 1)
    return list_type(*[text.encode() for text in texts], None)


def metrics():
    """A dictionary, and the callback that fills it: keep it until the call has ended."""
    found = {}

    def put(_context, name, value):
        found[name.decode()] = value

    return found, Put(put)
