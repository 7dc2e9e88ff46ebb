"""Batches whose lines hold problem and candidate as a server is sent them."""

from pathlib import Path

import pytest
from support import PASSED, SOME_FAILED, USAGE, write_lines

ROOT = Path(__file__).resolve().parents[2]

REFERENCE = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        return torch.relu(self.linear(x))

class Model(nn.Module):
    def forward(self, x):
        return x

def get_inputs():
    return [torch.randn(8, 16)]

def get_init_inputs():
    return [16]
"""
CANDIDATE = """
import torch
from torch import nn

class NetNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        return self.linear(x).clamp(min=0)
"""


def torch_problem(**more):
    return {"format": "torch", "source": REFERENCE, **more}


def line(problem, source):
    return {"problem": problem, "candidate": {"source": source}}


def test_entry_point(warpgym, tmp_path):
    net = torch_problem(entry_point="Net")
    batch = write_lines(
        tmp_path / "batch.jsonl",
        [
            line(net, CANDIDATE),
            line(net, CANDIDATE.replace("min=0", "min=1")),
            line(net, CANDIDATE.replace("NetNew", "ModelNew")),
        ],
    )
    run = warpgym.eval(batch, expect=SOME_FAILED)
    assert [verdict["status"] for verdict in run.verdicts] == ["passed", "wrong", "load_error"]
    assert "defines no NetNew" in run.verdicts[2]["error"]["message"]
    first, second, _ = (verdict["problem"] for verdict in run.verdicts)
    assert first == second and first["format"] == "torch" and first["id"].startswith("inline/")


def test_native(warpgym, tmp_path):
    folder = ROOT / "problems" / "native" / "softmax"
    problem = {
        "format": "native",
        "yaml": (folder / "problem.yaml").read_text(),
        "source": (folder / "reference.c").read_text(),
    }
    batch = write_lines(
        tmp_path / "batch.jsonl",
        [
            line(problem, (folder / "tests" / "fast.c").read_text()),
            line({"id": "softmax"}, (folder / "tests" / "fast.c").read_text()),
        ],
    )
    warpgym.eval(batch, expect=PASSED)


@pytest.mark.parametrize(
    ("problem", "complaint"),
    [
        (torch_problem(entry_point="Other"), "class Other is missing"),
        (torch_problem(entry="Net"), "unknown key 'entry'"),
        ({"format": "native", "yaml": "name: [", "source": ""}, "problem.yaml:2:1: "),
        ({"id": "../../etc/passwd"}, "'id' is a path"),
    ],
)
def test_refused(warpgym, tmp_path, problem, complaint):
    batch = write_lines(tmp_path / "batch.jsonl", [line(problem, CANDIDATE)])
    run = warpgym.eval(batch, expect=USAGE)
    assert complaint in run.err and "batch.jsonl:1" in run.err
