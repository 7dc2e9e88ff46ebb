"""The outcomes in tests/server/vectors. A file with "like" holds what differs from that file."""

import json
from pathlib import Path

from verdicts import whole

VECTORS = Path(__file__).resolve().parents[1] / "server" / "vectors"


def merged(base, changes):
    both = base | changes
    for key in base.keys() & changes.keys():
        if isinstance(base[key], dict) and isinstance(changes[key], dict):
            both[key] = merged(base[key], changes[key])
    return both


def load(name):
    value = json.loads((VECTORS / f"{name}.json").read_text(encoding="utf-8"))
    base = value.pop("like", None)
    return merged(load(base), value) if base else value


def vector(name):
    """By the name of its file, without .json. Its verdict is a whole one."""
    value = load(name)
    return value | {"verdict": whole(value["verdict"])} if value.get("verdict") else value
