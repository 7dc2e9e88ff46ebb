"""The outcomes in tests/server/vectors. A file with "like" holds what differs from that file."""

import json
from pathlib import Path

VECTORS = Path(__file__).resolve().parents[1] / "server" / "vectors"


def merged(base, changes):
    both = base | changes
    for key in base.keys() & changes.keys():
        if isinstance(base[key], dict) and isinstance(changes[key], dict):
            both[key] = merged(base[key], changes[key])
    return both


def vector(name):
    """By the name of its file, without .json."""
    value = json.loads((VECTORS / f"{name}.json").read_text(encoding="utf-8"))
    base = value.pop("like", None)
    return merged(vector(base), value) if base else value
