"""The schemas in docs/, which refer to one another by the names of their files."""

import json
from pathlib import Path

from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"


def load(name):
    return json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))


def validator(name):
    schema, verdict = load(name), DRAFT202012.create_resource(load("verdict"))
    Draft202012Validator.check_schema(schema)
    registry = Registry().with_resource("verdict.schema.json", verdict)
    return Draft202012Validator(schema, registry=registry)
