"""Weights of PyTorch models: how a candidate gets them, and how it may make its own."""

import pytest
from support import PASSED, SOME_FAILED, write, write_lines

pytest.importorskip("torch")

SCRATCH = "1MiB"
PROBLEM = """import torch


class Model(torch.nn.Module):
    def __init__(self, width, start):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(width, width))  # 4 MiB
        self.offset = torch.nn.Parameter(torch.randn(width))
        self.register_buffer("steps", torch.arange(width) - start)

    def forward(self, x):
        return x * self.weight.diagonal() + self.weight[3] + self.offset * self.steps


def get_inputs():
    return [torch.randn(4, 1024)]


def get_init_inputs():
    return [1024, torch.randint(1000, (1024,))]
"""
WEIGHT, OFFSET = "torch.randn(width, width)", "torch.randn(width)"
OTHER_NAMES = [("self.weight", "self.w"), ("self.offset", "self.o")]
LEGACY = (WEIGHT, "torch.nn.init.normal_(torch.Tensor(width, width))")
PACKED = [
    ("        self.off", "        self.packed = self.weight.diagonal().clone()\n        self.off"),
    ("x * self.weight.diagonal()", "x * self.packed"),
]
BUFFER = "        self.register_buffer"
# name: what is replaced in the problem's text, and its verdict
ROWS = {
    "same text": ([], "passed"),
    "by name": ([(WEIGHT, "torch.empty(width, width)"), (OFFSET, "torch.zeros(width)")], "passed"),
    "by seed": (OTHER_NAMES, "passed"),
    "legacy constructor": ([*OTHER_NAMES, LEGACY], "passed"),
    "values of weights": (PACKED, "passed"),
    "values of weights by seed": ([*PACKED, *OTHER_NAMES], "passed"),
    "changed once drawn": (
        [(BUFFER, "        self.offset.data.mul_(2)\n" + BUFFER),
         ("self.offset *", "self.offset / 2 *")],
        "passed",
    ),
    "drawn twice": (
        [(BUFFER, "        torch.nn.init.normal_(self.offset)\n" + BUFFER)], "passed",
    ),
    "lazy": ([(BUFFER, "        self.spare = torch.nn.LazyLinear(3)\n" + BUFFER)], "passed"),
    "other values": ([*OTHER_NAMES, (OFFSET, "torch.zeros(width)")], "wrong"),
    "other order": (
        [*OTHER_NAMES, ("super().__init__()", "super().__init__()\n        torch.randn(9)")],
        "wrong",
    ),
    "changes what it is given": (
        [("        self.weight =", "        start += 1\n        self.weight ="),
         ('"steps"', '"own"'), ("self.steps", "self.own")],
        "wrong",
    ),
    "after that one": ([], "passed"),
}  # fmt: skip


@pytest.fixture(scope="module")
def judged(module_warpgym):
    folder = module_warpgym.folder
    problem = write(folder / "problem.py", PROBLEM)
    lines = []
    for name, (changes, _) in ROWS.items():
        text = PROBLEM.replace("Model(", "ModelNew(")
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        file = write(folder / (name.replace(" ", "_") + ".py"), text)
        lines.append({"problem": str(problem), "candidate": str(file)})
    batch = write_lines(folder / "batch.jsonl", lines)
    run = module_warpgym.eval("--no-timing", "-s", f"run.scratch_bytes={SCRATCH}", batch)
    assert run.status in (PASSED, SOME_FAILED), run.err
    return dict(zip(ROWS, run.verdicts, strict=True))


@pytest.mark.parametrize("name", ROWS)
def test_weights(judged, name):
    """Four times as large as scratch."""
    verdict = judged[name]
    assert verdict["status"] == ROWS[name][-1], verdict["error"]


CASES = """import torch


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()

    def forward(self, x):
        return x + 1


def get_init_inputs():
    return [3]


def get_cases():
    x = torch.randn(1024, 1024)
    return [{"inputs": [x], "outputs": x + 1}]
"""


def test_cases(warpgym, tmp_path):
    """Likewise what a simple problem brings."""
    line = {"problem": {"format": "simple"}, "candidate": {"source": CASES}}
    batch = write_lines(tmp_path / "batch.jsonl", [line])
    run = warpgym.eval("--no-timing", "-s", f"run.scratch_bytes={SCRATCH}", batch)
    assert run.status == PASSED, run
    assert run.verdict["cases"]["failed"] == []
