"""Simple problems: the candidate, or its sender, provides cases instead of a reference."""

from support import write_lines

CLASS = """
import torch
from torch import nn

class ModelNew(nn.Module):
    def forward(self, x, y=0):
        return {result}
"""
CASES = """
import torch

def get_cases():
    x = torch.randn(8, 16)
    one = {"inputs": [x], "outputs": 2 * x, "name": "one"}
    two = {"input": [x[:3], x[:3]], "output": 3 * x[:3], "rtol": 1e-6, "atol": 0}
    return [one, two]
"""
DOUBLE_AND_ADD = CLASS.format(result="2 * x + y")


def line(source, **problem):
    return {"problem": {"format": "simple"} | problem, "candidate": {"source": source}}


def judged(warpgym, tmp_path, *lines, timing=False):
    batch = write_lines(tmp_path / "batch.jsonl", lines)
    if timing:
        return warpgym("eval", "--json", "--quiet", batch).verdicts
    return warpgym.eval(batch).verdicts


def test_sources_of_the_cases(warpgym, tmp_path):
    listed = [{"inputs": [3], "outputs": 6}, {"inputs": [1, 2], "name": "n"}]
    own, code, listed = judged(
        warpgym,
        tmp_path,
        line(DOUBLE_AND_ADD + CASES),
        line(DOUBLE_AND_ADD, cases=CASES),
        line(DOUBLE_AND_ADD, cases=listed),
    )
    for verdict, source, expected in ((own, "kernel_code", 2), (code, "cases_code", 2),
                                      (listed, "inline", 1)):
        assert verdict["status"] == "passed", verdict
        assert verdict["problem"]["format"] == "simple"
        assert verdict["cases"] == {"source": source, "count": 2, "expected": expected,
                                    "failed": []}


COMPARED = [
    ("x + y", "wrong", ["one"], "one: output 0: "),
    ("2 * x if y is 0 else x", "wrong", ["case_1"], "case_1: output 0: "),
    ("2 * x + y * 1.00001", "wrong", ["case_1"], "case_1: output 0: "),
    ("2 * x[:1] + y", "wrong", ["one"], "one: output 0 is float32[1, 16]"),
    ("(2 * x + y).double()", "wrong", ["one"], "one: output 0 is float64[8, 16]"),
    ("'text'", "runtime_error", [], "forward returned str, not tensors"),
    ("1 / 0", "runtime_error", [], "ZeroDivisionError"),
    ("(2 * x + y) * (1 + 1e-8)", "passed", [], None),
]


def test_compared(warpgym, tmp_path):
    lines = [line(CLASS.format(result=result), cases=CASES) for result, *_ in COMPARED]
    verdicts = judged(warpgym, tmp_path, *lines)
    for verdict, (_, status, failed, says) in zip(verdicts, COMPARED, strict=True):
        assert verdict["status"] == status, verdict
        assert verdict["cases"]["failed"] == failed
        assert not says or says in verdict["error"]["message"]


def test_defaults_of_tolerance(warpgym, tmp_path):
    """As KernelGYM means them: 1e-4 and 1e-5, and no more."""
    cases = [{"inputs": [3], "outputs": 6}]
    verdicts = judged(
        warpgym,
        tmp_path,
        line(CLASS.format(result="6.0005"), cases=cases),
        line(CLASS.format(result="6.0007"), cases=cases),
        line(CLASS.format(result="6.0007"), cases=[cases[0] | {"atol": 0.1, "rtol": None}]),
    )
    assert [verdict["status"] for verdict in verdicts] == ["passed", "wrong", "passed"]


def test_not_compared(warpgym, tmp_path):
    inputs = DOUBLE_AND_ADD + "\ndef get_inputs():\n    return [torch.ones(3)]\n"
    verdicts = judged(
        warpgym,
        tmp_path,
        line(CLASS.format(result="x"), cases=CASES, compare=False),
        line(inputs),
        line(CLASS.format(result="1 / 0"), cases=CASES, compare=False),
    )
    assert [verdict["status"] for verdict in verdicts] == ["passed", "passed", "runtime_error"]
    assert [verdict["cases"]["expected"] for verdict in verdicts] == [0, 0, 0]


def test_timed(warpgym, tmp_path):
    """The first case alone, and nothing to hold it against."""
    slow = CLASS.format(result="2 * x if y is 0 else 2 * x + y + 0 * torch.ones(2000, 2000).sum()")
    (verdict,) = judged(warpgym, tmp_path, line(slow, cases=CASES), timing=True)
    assert verdict["status"] == "passed", verdict
    timing = verdict["timing"]
    assert timing["candidate"]["median"] > 0
    assert timing["reference"]["median"] is None and timing["speedup"] is None


def test_class_and_arguments(warpgym, tmp_path):
    source = """
import torch
from torch import nn

class Scale(nn.Module):
    def __init__(self, factor, tensor):
        super().__init__()
        self.factor = factor * tensor

    def forward(self, *, x):
        return {"y": self.factor * x}

def get_init_inputs():
    return [2, torch.tensor([3.0])]

def get_cases():
    return [{"inputs": {"x": torch.ones(4)}, "outputs": {"y": torch.full((4,), 6.0)}}]
"""
    found, missing = judged(
        warpgym, tmp_path, line(source, entry_point="Scale"), line(source, entry_point="Other")
    )
    assert found["status"] == "passed", found
    assert missing["status"] == "load_error" and "defines no Other" in missing["error"]["message"]


NOT_MADE = [
    (DOUBLE_AND_ADD + "\ndef get_cases():\n    raise ValueError('x')\n", None, "load_error",
     "ValueError: x"),
    (DOUBLE_AND_ADD + "\nget_cases(\n", None, "compile_error", "candidate.py:"),
    (DOUBLE_AND_ADD + "\nimport ctypes\nget_cases = ctypes.string_at(0)\n", None,
     "runtime_error", "SIGSEGV"),
    (DOUBLE_AND_ADD, "def get_cases():\n    return []\n", "unsupported", "no case"),
    (DOUBLE_AND_ADD, "def get_cases():\n    return 1 / 0\n", "unsupported", "ZeroDivision"),
    (DOUBLE_AND_ADD, "def get_cases():\n    return [{'inputs': [1], 'outputs': 'x'}]\n",
     "unsupported", "the cases cannot be judged"),
    (DOUBLE_AND_ADD, "def get_cases():\n    return [[1]] * 65\n", "unsupported", "65 cases"),
    (DOUBLE_AND_ADD, CASES.replace("1e-6", "-1"), "unsupported", "must not be negative"),
]


def test_cases_that_cannot_be_made(warpgym, tmp_path):
    lines = [
        line(source, **({"cases": cases} if cases else {})) for source, cases, *_ in NOT_MADE
    ]
    verdicts = judged(warpgym, tmp_path, *lines)
    for verdict, (_, _, status, says) in zip(verdicts, NOT_MADE, strict=True):
        assert verdict["status"] == status, verdict
        assert says in verdict["error"]["message"]


def test_cases_cannot_reach_the_clock(warpgym, tmp_path):
    """Their text runs in a process that has ended when timing begins (catalogue H24)."""
    clock = "\nimport time\ntime.monotonic_ns = lambda: 0\n"
    waits = CLASS.format(result="(__import__('time').sleep(0.02), 2 * x + y)[1]")
    (verdict,) = judged(warpgym, tmp_path, line(waits + CASES + clock), timing=True)
    assert verdict["status"] == "passed", verdict
    # What every call of the reference takes beside its work is taken off; of a stopped clock, all.
    assert verdict["timing"]["candidate"]["median"] > 10
