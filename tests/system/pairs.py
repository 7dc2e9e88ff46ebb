"""Honest candidates beside cheating ones: one row of a table for each pair.

Row: get_inputs, what the problem, the honest and the cheating candidate return. A pair in place of
an expression is what stands in the constructor, and the expression.
"""

import json

KINDS = ("honest", "cheat")
MODULE = """import torch
from torch import nn
from torch.nn import functional as F


class {name}(nn.Module):
    def __init__(self):
        super().__init__()
        {made}

    def forward(self, a, b=None, c=None):
        return {returned}
"""
INPUTS = """

def get_inputs():
    {made}


def get_init_inputs():
    return []
"""


def _module(name, returned):
    made, returned = returned if isinstance(returned, tuple) else ("pass", returned)
    return MODULE.format(name=name, made=made, returned=returned)


def write(folder, table):
    """Writes problems, candidates and a batch of them. Returns its path."""
    tasks = []
    for number, (made, *returned) in enumerate(table.values()):
        names = ("Model", "ModelNew", "ModelNew")
        problem, *texts = [_module(*both) for both in zip(names, returned, strict=True)]
        problem += INPUTS.format(made=made)
        paths = [folder / f"{number}.{kind}.py" for kind in ("problem", *KINDS)]
        for path, text in zip(paths, (problem, *texts), strict=True):
            path.write_text(text, encoding="utf-8")
        tasks += [{"problem": str(paths[0]), "candidate": str(path)} for path in paths[1:]]
    batch = folder / "batch.jsonl"
    batch.write_text("".join(json.dumps(task) + "\n" for task in tasks), encoding="utf-8")
    return batch


def sorted_out(verdicts, table):
    """Verdicts of that batch, in any order, by row and kind."""
    rows = list(table)
    found = {}
    for verdict in verdicts:
        number, kind, _ = verdict["candidate"]["path"].rsplit("/", 1)[1].split(".")
        found[rows[int(number)], kind] = verdict
    return found
