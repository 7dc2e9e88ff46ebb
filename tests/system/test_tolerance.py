"""The table of docs/design/tolerance.md: what rounds otherwise passes, what computes less does not.

Each row is a problem, its inputs and what a candidate returns.
"""

import re
from pathlib import Path

import pytest
from support import ROOT, SOME_FAILED, write, write_lines

pytest.importorskip("torch")

MODULE = """import torch
from torch import nn
from torch.nn import functional as F


def in_sequence(x):
    total = x[:, 0]
    for i in range(1, x.shape[1]):
        total = total + x[:, i]
    return total


def compensated(x):
    total, lost = torch.zeros_like(x[:, 0]), torch.zeros_like(x[:, 0])
    for i in range(x.shape[1]):
        term = x[:, i] - lost
        larger = total + term
        lost = (larger - total) - term
        total = larger
    return total


def tf32(x):
    return ((x.view(torch.int32) + 0x1000) & ~0x1FFF).view(torch.float32)


def one_pass(x):
    return (x * x).mean(1) - x.mean(1) ** 2


def chaotic(x):
    for _ in range(60):
        x = 3.9 * x * (1 - x)
    return x


class {name}(nn.Module):
    def forward(self, a, b=None, c=None):
        return {returned}
"""
INPUTS = """

def get_inputs():
    return [{made}]


def get_init_inputs():
    return []
"""
ROWS, LONG, PAIR = "torch.randn(64, 1000)", "torch.randn(256, 1024)", "torch.randn(2, 96, 200)"
RESIDUAL = "*(a := torch.randn(2, 5000)), -a[0] * a[1]"
LARGE = "100 + torch.randn(64, 1000)"
GROUPS = "F.group_norm(a.view(8, 16, 1, -1), 4).mean((1, 2, 3))"
PROBABILITIES = "a.to(torch.float16).softmax(1)"
# products of which the threshold `c` leaves one, by 10^-3 at the most, or none in nine of ten draws
CUT = "*(ab := torch.randn(2053, 10).split((2048, 5))), (ab[0] @ ab[1].T).max()"
CUT_TO_ONE, CUT_TO_ZERO = f"{CUT} - 1e-3 * torch.rand(())", f"{CUT} + 1e-2 * (torch.rand(()) - 0.1)"
LINEAR = "F.relu((a @ b.T - c) * 1.5)"
IN_ORDER = "F.relu((in_sequence(a[:, :, None] * b.T) - c) * 1.5)"

# row of the page: inputs, what the problem returns, what the candidate returns, whether it passes
TABLE = {
    "reordered sum": (ROWS, "a.sum(1)", "in_sequence(a)", True),
    "reordered mean, one number near zero": (
        LONG, "a.mean()", "in_sequence(in_sequence(a)[None])[0] / a.numel()", True,
    ),
    "zero for a mean": (LONG, "a.mean()", "a[0, 0] * 0", False),
    "mean of half the terms": (LONG, "a.mean()", "a[::2].mean()", False),
    "reordered mean of normalised groups": (
        "torch.randn(8, 8192)", GROUPS,
        "in_sequence(F.group_norm(a.view(8, 16, 1, -1), 4).view(8, -1)) / 8192", True,
    ),
    "reordered product": (
        "torch.rand(512, 160) - 0.5", "a.prod(1)", "a.view(-1, 16, 10).prod(1).prod(1)", True,
    ),
    "zero for a product": (
        "torch.rand(512, 20) - 0.5", "a.prod(1)", "a[:, 0] * 0", False,
    ),
    "online softmax": (
        ROWS, "a.softmax(1)", "(a - a.logsumexp(1, True)).exp()", True,
    ),
    "fused multiply-add": (
        RESIDUAL, "a * b + c", "(a.double() * b + c).to(a.dtype)", True,
    ),
    "Kahan sum": (ROWS, "a.sum(1)", "compensated(a)", True),
    "exp as a power of two": ("torch.randn(5000)", "a.exp()", "(a * 1.44269504).exp2()", True),
    "GELU by erf, saturated": (
        "torch.randn(5000) - 8", "F.gelu(a)", "0.5 * a * (1 + torch.erf(a * 0.70710678))", True,
    ),
    "zeros for a saturated GELU": ("torch.randn(5000) - 8", "F.gelu(a)", "a * 0", False),
    "tanh-GELU": ("torch.randn(5000)", "F.gelu(a)", 'F.gelu(a, approximate="tanh")', False),
    "TF32": (PAIR, "a[0] @ a[1].T", "tf32(a[0]) @ tf32(a[1]).T", False),
    "bf16": (
        PAIR, "a[0] @ a[1].T", "(a[0].bfloat16() @ a[1].bfloat16().T).float()", False,
    ),
    "bf16 sums of one number near zero": (
        LONG, "a.mean()", "a.bfloat16().float().mean()", False,
    ),
    "one-pass variance, mean 0": (ROWS, "a.var(1, correction=0)", "one_pass(a)", True),
    "one-pass variance, mean 100": (LARGE, "a.var(1, correction=0)", "one_pass(a)", False),
    "zeros in half precision": (
        "torch.randn(4, 60000)", PROBABILITIES, f"{PROBABILITIES} * 0", False,
    ),
    "reordered products, one in 10240 above a threshold": (CUT_TO_ONE, LINEAR, IN_ORDER, True),
    "a constant added to that one": (
        CUT_TO_ONE, LINEAR, f"{LINEAR} + 2e-4 * ({LINEAR} > 0)", False,
    ),
    "TF32 before that threshold": (
        CUT_TO_ONE, LINEAR, "F.relu((tf32(a) @ tf32(b).T - c) * 1.5)", False,
    ),
    "chaotic map, as the reference computes it": (
        "torch.rand(5000)", "chaotic(a)", "chaotic(a)", True,
    ),
    "a constant for a chaotic map": (
        "torch.rand(5000)", "chaotic(a)", "a * 0 + 0.5", False,
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def verdicts(module_warpgym):
    folder = module_warpgym.folder
    tasks = []
    for number, (made, reference, candidate, _) in enumerate(TABLE.values()):
        texts = [
            MODULE.format(name=name, returned=returned)
            for name, returned in (("Model", reference), ("ModelNew", candidate))
        ]
        problem = write(folder / f"{number}.py", texts[0] + INPUTS.format(made=made))
        answer = write(folder / f"{number}.candidate.py", texts[1])
        tasks.append({"problem": str(problem), "candidate": str(answer)})
    batch = write_lines(folder / "batch.jsonl", tasks)
    run = module_warpgym.eval("--jobs", "2", batch, timeout=600, expect=SOME_FAILED)
    found = {Path(one["candidate"]["path"]).name: one for one in run.verdicts}
    return {row: found[f"{number}.candidate.py"] for number, row in enumerate(TABLE)}


@pytest.mark.parametrize("row", TABLE)
def test_row(verdicts, row):
    verdict = verdicts[row]
    assert verdict["status"] == ("passed" if TABLE[row][-1] else "wrong"), verdict["error"]


GELU, PRODUCT = TABLE["tanh-GELU"], TABLE["TF32"]
# what the module states, settings, row of the table, whether it passes
TERMS = {
    "kernelgym": ("", ["check.tolerance=kernelgym"], GELU, True),
    "kernelbench": ("", ["check.tolerance=kernelbench"], GELU, False),
    "given": ("", ["check.tolerance={rtol: 0, atol: 1e-3}"], GELU, True),
    "given, too small": ("", ["check.tolerance={rtol: 1e-4, atol: 1e-4}"], GELU, False),
    "stated": ("# Tolerance: kernelgym\n", [], GELU, True),
    "stated in a docstring": (
        '"""GELU.\n\nTolerance: {rtol: 1e-2, atol: 1e-2}\n"""\n', [], GELU, True,
    ),
    "a setting comes first": ("# Tolerance: kernelgym\n", ["check.tolerance=strict"], GELU, False),
    "tf32": ("", ["torch.precision=tf32"], PRODUCT, True),
    "stated tf32": ("# Precision: tf32\n", [], PRODUCT, True),
    "tf32 is no bf16": ("", ["torch.precision=tf32"], TABLE["bf16"], False),
    "opened with zeros": ("", ["check.trials=80"], (CUT_TO_ZERO, LINEAR, IN_ORDER), True),
    "opened with zeros, a constant added": (
        "", ["check.trials=80"], (CUT_TO_ZERO, LINEAR, f"{LINEAR} + 2e-4 * ({LINEAR} > 0)"), False,
    ),
    "opened with zeros, TF32": (
        "", ["check.trials=80"],
        (CUT_TO_ZERO, LINEAR, "F.relu((tf32(a) @ tf32(b).T - c) * 1.5)"), False,
    ),
    "kernelbench at bf16": (
        "# Precision: bf16\n# Tolerance: kernelbench\n", [],
        ("torch.rand(50, 1000)", "a.tanh()", "a.tanh() * 1.015", True), True,
    ),
}  # fmt: skip


@pytest.mark.parametrize("terms", TERMS)
def test_terms(warpgym, tmp_path, terms):
    stated, settings, (made, reference, candidate, *_), passes = TERMS[terms]
    problem = stated + MODULE.format(name="Model", returned=reference)
    write(tmp_path / "problem.py", problem + INPUTS.format(made=made))
    write(tmp_path / "candidate.py", MODULE.format(name="ModelNew", returned=candidate))
    options = [word for setting in settings for word in ("-s", setting)]
    run = warpgym.eval(
        "--no-timing", "-p", tmp_path / "problem.py", tmp_path / "candidate.py", *options,
        expect=0 if passes else SOME_FAILED,
    )  # fmt: skip
    assert run.verdicts[0]["status"] == ("passed" if passes else "wrong")


LOOKS = {
    "tanh-GELU": "of an approximation",
    "TF32": "the size of TF32",
    "bf16": "the size of bfloat16",
}


@pytest.mark.parametrize("row", LOOKS)
def test_look(verdicts, row):
    looks = verdicts[row]["correctness"]["first_mismatch"]["looks_like"]
    assert looks.startswith(LOOKS[row])
    assert looks in verdicts[row]["error"]["message"]


def test_a_reference_that_is_off_is_said(verdicts):
    message = verdicts["a constant for a chaotic map"]["error"]["message"]
    assert re.search(r"; the reference itself is up to 1\.\d of the output's scale off$", message)


def test_page_has_the_rows():
    page = (ROOT / "docs/design/tolerance.md").read_text(encoding="utf-8")
    stated = re.findall(r"^\| (.+?) \| (accepted|refused) \|", page, re.MULTILINE)
    rows = [(row, "accepted" if passes else "refused") for row, (*_, passes) in TABLE.items()]
    assert stated == rows
