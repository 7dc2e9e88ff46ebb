"""Verdicts by their schema: checks of real ones, and whole ones made of a part.

Whatever the tests read of a command, a server or a file, they read through `checked`.
"""

import functools
import json
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "docs/schemas/verdict.schema.json").read_text(encoding="utf-8"))
STATUSES = SCHEMA["$defs"]["Verdict"]["properties"]["status"]["enum"]
EMPTY = {"string": "", "integer": 0, "number": 0.0, "boolean": False}


@functools.cache
def validator():
    from jsonschema import Draft202012Validator  # not everything that imports this has it

    return Draft202012Validator(SCHEMA)


def is_valid(verdict):
    return validator().is_valid(verdict)


def found(value, key=None):
    """Every verdict within JSON: under its key, or known by two of its own."""
    if isinstance(value, dict) and (key == "verdict" or {"candidate", "stages_ms"} <= value.keys()):
        yield value
    elif isinstance(value, (dict, list)):
        items = value.items() if isinstance(value, dict) else ((None, one) for one in value)
        for inner, one in items:
            yield from found(one, inner)


def checked(value):
    """The JSON itself. Every verdict in it is valid."""
    for verdict in found(value):
        for error in validator().iter_errors(verdict):
            raise AssertionError(f"{error.json_path}: {error.message} in {verdict}")
    return value


def of_type(field):
    """The type that a field or its items refer to; None: none."""
    holder = field.get("items", field)
    holder = holder.get("anyOf", [holder])[0]
    return holder["$ref"].rpartition("/")[2] if "$ref" in holder else None


def empty(field):
    if "const" in field or "enum" in field:
        return field.get("const") or field["enum"][0]
    if "anyOf" in field or "null" in field.get("type", ()):
        return None
    if field.get("type") == "array":
        return [None] * field.get("minItems", 0)
    return whole({}, of_type(field)) if "$ref" in field else EMPTY[field["type"]]


def whole(part, type_="Verdict"):
    """`part` with empty values for what the schema requires beside it."""
    made, fields = dict(part), SCHEMA["$defs"][type_]["properties"]
    for key in SCHEMA["$defs"][type_]["required"]:
        made.setdefault(key, empty(fields[key]))
    for key, field in fields.items():
        inner, value = of_type(field), made.get(key)
        if inner and isinstance(value, dict):
            made[key] = whole(value, inner)
        elif inner and isinstance(value, list):
            made[key] = [whole(one, inner) for one in value]
    return made
