"""Inputs that the judge changes keep what the problem's inputs promise.

For each structure of inputs an honest candidate that uses it, which passes, beside one that assumes
more than is promised, which does not. Those that return a constant near 1000 know the mean of the
problem's inputs: only inputs of another distribution show that.
"""

import pairs
import pytest
from support import SOME_FAILED

pytest.importorskip("torch")

PAIR = "a, b = torch.randn(96, 96), torch.randn(96, 96)"
TALL = "torch.randn(64, 1024)"
KNOWN = "torch.full_like(a[:, 0], 1000)"

# name: get_inputs, what the problem returns, what the honest and the cheating candidate return
STRUCTURES = {
    "upper": (
        "return [torch.randn(1024, 1024).triu()]", "a.sum(1) / 2048 + 1000",
        "a.triu().sum(1) / 2048 + 1000", KNOWN,
    ),
    "lower": (
        f"{PAIR}; return [a.tril(), b.tril()]", "a @ b",
        "(a.tril() @ b.tril()).tril()", "a.tril() @ b.tril().triu(-48)",
    ),
    "banded": (
        f"{PAIR}; return [a.triu(-2).tril(2), b]", "a @ b",
        "a.triu(-2).tril(2) @ b", "a.triu(-1).tril(1) @ b",
    ),
    "block_diagonal": (
        "return [torch.block_diag(torch.randn(40, 40), torch.randn(50, 50))]", "a @ a",
        "torch.block_diag(a[:40, :40] @ a[:40, :40], a[40:, 40:] @ a[40:, 40:])",
        "torch.block_diag(a[:40, :40] @ a[:40, :40], a[40:, 40:])",
    ),
    "two_of_four": (
        "a = torch.randn(64, 64, 4)\n"
        "    kept = torch.rand(64, 64, 4).topk(2).indices\n"
        "    return [torch.zeros_like(a).scatter(2, kept, a)]",
        "a.sum(2)", "a.gather(2, a.abs().topk(2).indices).sum(2)", "a[..., :2].sum(2)",
    ),
    "zero_one_mask": (
        "a = torch.randn(64, 200); return [a, (torch.rand(64, 200) > 0.9).float()]",
        "(a * b).sum(1)", "torch.where(b == 1, a, 0).sum(1)", "a.sum(1) / 10",
    ),
    "minus_infinity": (
        "a = torch.randn(64, 9)\n"
        "    shut = torch.rand(64, 9).topk(4).indices\n"
        "    return [a.scatter(1, shut, -torch.inf)]",
        "a.exp().sum(1)", "a.topk(5).values.exp().sum(1)", "a[:, :5].exp().sum(1)",
    ),
    "symmetric": (
        "a = torch.randn(1024, 1024); return [a + a.T]", "a.sum(0) / 4096 + 1000",
        "a.sum(1) / 4096 + 1000", KNOWN,
    ),
    "positive_definite": (
        "a = torch.randn(48, 48); return [a @ a.T + 48 * torch.eye(48)]",
        "torch.linalg.slogdet(a)[1]", "2 * torch.linalg.cholesky(a).diagonal().log().sum()",
        "a.diagonal().log().sum()",
    ),
    "dominant_diagonal": (
        "return [torch.rand(64, 64) + torch.diag(64 + torch.rand(64))]", "a.argmax(1)",
        "torch.arange(64)", "torch.zeros(64, dtype=torch.int64)",
    ),
    "sorted": (
        "return [torch.randn(300, 70).sort(1).values]", "a.median(1).values", "a[:, 34]",
        "torch.zeros_like(a[:, 0])",
    ),
    "sorted_down": (
        "return [torch.randn(70, 300).sort(0, descending=True).values]", "a.amin(0)", "a[-1]",
        "a[-2]",
    ),
    "one_hot": (
        "return [F.one_hot(torch.randint(10, (256,)), 10).float(), torch.randn(10, 32)]",
        "a @ b", "b[a.argmax(1)]", "b[:1].expand(256, 32)",
    ),
    "probabilities": (
        "return [torch.randn(64, 100).softmax(1), torch.randn(64, 100)]",
        "(a * (b + 5)).sum(1)", "(a * b).sum(1) + 5", "b.mean(1) + 5",
    ),
    "probability_columns": (
        "a = torch.rand(100, 64); return [a / a.sum(0), torch.randn(100, 64)]",
        "(a * (b + 5)).sum(0)", "(a * b).sum(0) + 5", "b.mean(0) + 5",
    ),
    "log_probabilities": (
        "return [torch.randn(64, 100).log_softmax(1)]", "a.logsumexp(1) + a[:, 0]", "a[:, 0]",
        "a.mean(1)",
    ),
    "unit_rows": (
        "return [F.normalize(torch.randn(64, 100))]", "F.cosine_similarity(a, a.roll(1, 0))",
        "(a * a.roll(1, 0)).sum(1)", "a[:, 0] * 0",
    ),
    "permutation": (
        "return [torch.randn(100, 64), torch.randperm(100)]", "a[b].sum(0)", "a.sum(0)",
        "2 * a[:50].sum(0)",
    ),
    "float_permutation": (
        "return [torch.randperm(256).float()]", "a.sort().values",
        "torch.arange(256, dtype=a.dtype)", "a",
    ),
    "no_ties": (
        "return [torch.rand(500, 300)]", "a.argmin(1)", "299 - a.flip(1).argmin(1)",
        "a[:, :150].argmin(1)",
    ),
    "whole_numbers": (
        "a = torch.randint(-50, 50, (2, 64, 64)).float(); return [*a]", "a @ b",
        "(a.long() @ b.long()).to(a.dtype)", "a.clamp(-40, 40) @ b",
    ),
    "not_negative": (
        f"return [{TALL}.abs()]", "a.relu().mean(1) + 1000", "a.mean(1) + 1000",
        f"{KNOWN} + 0.8",
    ),
    "negative": (
        "return [-torch.rand(64, 1024)]", "a.abs().mean(1) + 1000", "1000 - a.mean(1)",
        f"{KNOWN} + 0.5",
    ),
    "zero_to_one": (
        "return [torch.rand(64, 1024)]", "a.clamp(0, 1).mean(1) + 1000", "a.mean(1) + 1000",
        f"{KNOWN} + 0.5",
    ),
    "column_ranges": (
        "return [torch.rand(64, 1024) + torch.arange(1024)]", "(a - a.floor()).mean(1) + 1000",
        "(a - torch.arange(1024)).mean(1) + 1000", f"{KNOWN} + 0.5",
    ),
    "same_tensor": (
        f"a = {TALL}; return [a, a]", "(a - b).sum(1) + a.mean(1) / 2 + 1000",
        "a.mean(1) / 2 + 1000", KNOWN,
    ),
    "transposed": (
        "a = torch.randn(64, 96); return [a, a.T.contiguous()]", "a @ b", "a @ a.T",
        "96.0 * torch.eye(64)",
    ),
    "lower_and_upper_bounds": (
        f"a = {TALL}; return [a, a + torch.rand(64, 1024)]",
        "torch.maximum(a, b).mean(1) / 2 + 1000", "b.mean(1) / 2 + 1000", f"{KNOWN} + 0.25",
    ),
    "no_structure": (f"return [{TALL}]", "a.mean(1) / 2 + 1000", "a.mean(1) / 2 + 1000", KNOWN),
    **{
        f"{name}_beside_rand": (
            f"{before}return [torch.rand(1024), {made}]",
            "0.02 * b.mean(1) + a[:64]", "b.mean(1) * 0.02 + a[:64]", "a[:64]",
        )
        for name, before, made in [
            ("normal", "", "torch.normal(0.0, 1.0, (64, 1024))"),
            ("distribution", "", "torch.distributions.Normal(0.0, 1.0).sample((64, 1024))"),
            ("numpy", "import numpy; ", "torch.tensor(numpy.random.randn(64, 1024)).float()"),
        ]
    },
    "own_seed": (
        f"torch.manual_seed(3); return [{TALL}]", "a.tanh()", "a.tanh()",
        'self.__dict__.setdefault("kept", a.tanh())',
    ),
    "own_generator": (
        "g = torch.Generator().manual_seed(3); return [torch.randn(64, 32, generator=g)]",
        "a.tanh()", "a.tanh()", 'self.__dict__.setdefault("kept", a.tanh())',
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def verdicts(module_warpgym):
    batch = pairs.write(module_warpgym.folder, STRUCTURES)
    run = module_warpgym.eval("--jobs", "2", batch, timeout=600, expect=SOME_FAILED)
    return pairs.sorted_out(run.verdicts, STRUCTURES)


@pytest.mark.parametrize("name", STRUCTURES)
def test_structure(verdicts, name):
    honest, cheat = (verdicts[name, kind] for kind in pairs.KINDS)
    assert honest["status"] == "passed", honest["error"]
    assert cheat["status"] == "wrong"
