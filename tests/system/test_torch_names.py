"""Names that a candidate takes from its problem's text: KernelBench runs both in one namespace."""

import pytest
from support import write, write_lines

pytest.importorskip("torch")

PROBLEM = """import math

import torch
from torch import nn

width = 64
scales = {"one": 1.0, "two": 2.0}


def scaled(x, by="two"):
    return x * scales[by] / math.sqrt(width)


class Layer(nn.Module):
    def scale(self, x):
        return scaled(x)


class Base(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns, width))

    def forward(self, x):
        return scaled(x @ self.weight)


class Model(Base):
    pass


if width:
    Alias = Model

made: nn.Module = Model(width)
str(Model(width))


def make():
    return Model(width)


def get_inputs():
    return [torch.randn(16, width)]


def get_init_inputs():
    return [width]


def never_called():
    raise SystemExit("the problem's text is run for its definitions alone")
"""
IMPORTS = "import torch\nfrom torch import nn\n"
CLASS = """

class ModelNew({base}):
    def __init__(self, columns):
        super().__init__({arguments})
        self.weight = nn.Parameter(torch.randn(columns, {width}))

    def forward(self, x):
        return {result}
"""
MODULE = {"base": "nn.Module", "arguments": "", "width": "columns"}
SCALED, PLAIN = "scaled(x @ self.weight)", "(x @ self.weight) / 4"


def candidate(head=IMPORTS, **parts):
    return head + CLASS.format(**MODULE | parts)


# name: the candidate, its verdict, what the message has
ROWS = {
    "nothing": (candidate(result=PLAIN), "passed", ""),
    "constant": (candidate(width="width", result=PLAIN), "passed", ""),
    "function": (candidate(result=SCALED), "passed", ""),
    "imports": (candidate("", result=PLAIN), "passed", ""),
    "the reference": (
        candidate(base="Model", arguments="columns", result="super().forward(x)"),
        "load_error", "'Model' is not defined",
    ),
    "what it inherits": (
        candidate(base="Base", arguments="columns", result="super().forward(x)"),
        "load_error", "'Base' is not defined",
    ),
    "another name of it": (
        candidate(result="Alias(64).forward(x)"), "runtime_error", "'Alias' is not defined",
    ),
    "one of it": (candidate(result="made(x)"), "runtime_error", "'made' is not defined"),
    "what would make one": (
        candidate(result="make()(x)"), "runtime_error", "'Model' is not defined",
    ),
    "a layer": (candidate(base="Layer", result="self.scale(x @ self.weight)"), "passed", ""),
    "in a lambda": (candidate(result="(lambda y: scaled(y))(x @ self.weight)"), "passed", ""),
    "one's own": (
        candidate(IMPORTS + "def scaled(x): return x / 4\n", result=SCALED), "passed", "",
    ),
    "one's own, set by a function": (
        candidate(IMPORTS + "def put():\n    global width\n    width = 8\n\nput()\n",
                  result="x @ self.weight * 2 / width"),
        "passed", "",
    ),
    "replaced": (
        candidate(IMPORTS + "import math\nscales = {'two': 7.0}\n", result=SCALED), "wrong", "",
    ),
    "of neither": (candidate(result="rescaled(x)"), "runtime_error", "'rescaled' is not defined"),
    "a constructor's": (candidate(width="columns_", result=PLAIN), "load_error", "'columns_'"),
    "no text": ("def f(:", "compile_error", "candidate.py:1"),
}  # fmt: skip


@pytest.fixture(scope="module")
def judged(module_warpgym):
    folder = module_warpgym.folder
    problem = write(folder / "problem.py", PROBLEM)
    lines = [
        {"problem": str(problem), "candidate": str(write(folder / f"{i}.py", text))}
        for i, (text, *_) in enumerate(ROWS.values())
    ]
    batch = write_lines(folder / "batch.jsonl", lines)
    run = module_warpgym.eval("--no-timing", batch, "--jobs", "2", expect=None)
    by_path = {verdict["candidate"]["path"]: verdict for verdict in run.verdicts}
    return {name: by_path[line["candidate"]] for name, line in zip(ROWS, lines, strict=True)}


@pytest.mark.parametrize("name", ROWS)
def test_names_of_the_problem(judged, name):
    verdict, (_, status, words) = judged[name], ROWS[name]
    assert verdict["status"] == status, verdict["error"]
    assert words in ((verdict["error"] or {}).get("excerpt") or "")


CASES = """width = 64


def get_cases():
    return [{"input": [1], "output": width}]
"""


def test_a_problem_of_cases_lends_none(warpgym, tmp_path):
    """What its cases expect would be among them."""
    source = candidate(result=PLAIN).replace("self, columns", "self").replace("columns", "width")
    line = {
        "problem": {"format": "simple", "cases": CASES}, "candidate": {"source": source},
    }  # fmt: skip
    verdict = warpgym.eval("--no-timing", write_lines(tmp_path / "one.jsonl", [line])).verdict
    assert verdict["status"] == "load_error"
    assert "'width' is not defined" in verdict["error"]["message"]
