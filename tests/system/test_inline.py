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


def test_name_and_id_stand_beside_either_form_of_problem(warpgym, tmp_path):
    fast = ROOT / "problems" / "native" / "softmax" / "tests" / "fast.c"
    text = fast.read_text()
    as_cpp = tmp_path / "fast.cpp"
    as_cpp.write_text(
        "#ifdef __cplusplus\n#define restrict\nextern \"C\" {\n#endif\n"
        f"{text}\n#ifdef __cplusplus\n}}\n#endif\n"
    )
    said = {"name": "step-1/answer", "id": "a 1"}
    batch = write_lines(
        tmp_path / "batch.jsonl",
        [
            {"problem": "softmax", "candidate": str(fast)} | said,
            {"problem": "softmax", "source": text} | said,
            line({"id": "softmax"}, text) | said,
            line(torch_problem(entry_point="Net"), CANDIDATE) | said,
            {"problem": "softmax", "candidate": str(as_cpp), "name": "mine"},
        ],
    )
    run = warpgym.eval(batch, expect=PASSED)
    assert [verdict["candidate"]["path"] for verdict in run.verdicts] == [
        *["step-1/answer"] * 4,
        "mine.cpp",  # the text alone looks like C
    ]
    assert [verdict["id"] for verdict in run.verdicts[:4]] == ["a 1"] * 4
    assert run.verdicts[4]["id"] != "a 1"


def test_a_bad_id_is_named(warpgym, tmp_path):
    batch = write_lines(
        tmp_path / "batch.jsonl", [line({"id": "softmax"}, "") | {"id": "a\tb"}]
    )
    run = warpgym.eval(batch, expect=USAGE)
    assert "batch.jsonl:1: 'id' must have" in run.err


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (CANDIDATE, "python"),
        ("#!/usr/bin/env python3\n# a comment\nfrom torch import nn\n", "python"),
        ('"""A docstring."""\nx = 1\n', "python"),
        ("import triton\n\n@triton.jit\ndef f():\n    pass\n", "triton"),
        ("#include <stddef.h>\nvoid solution(const float *x) {}\n", "c"),
        ("# include <stddef.h>\nvoid f(void) {}\n", "c"),
        ("import std;\nvoid f() { std::abort(); }\n", "cpp"),
        ("class Row {\n};\nextern \"C\" void solution() {}\n", "cpp"),
    ],
)
def test_a_text_without_an_ending_is_of_the_language_that_it_looks_like(
    warpgym, tmp_path, text, language
):
    candidate = tmp_path / "answer"
    candidate.write_text(text)
    run = warpgym.eval("--problem", "relu", candidate, expect=SOME_FAILED)
    assert run.verdict["candidate"]["language"] == language
