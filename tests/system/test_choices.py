"""Positions of values are judged by the values: ties may be broken in any way, and nothing else.

Each row: inputs, what the problem, an honest candidate and a cheating one return.
"""

import pairs
import pytest
from support import SOME_FAILED

pytest.importorskip("torch")

TIES, NO_TIES = "torch.randint(9, (64, 300)).float()", "torch.rand(64, 300)"
PAIR = "torch.randn(64, 200), torch.randn(200, 500)"
SORTED = "299 - a.flip(1).sort(1, descending=True).indices"

TABLE = {
    "argmax": (TIES, "a.argmax(1)", "299 - a.flip(1).argmax(1)", "a.argmax(1) - 1"),
    "argmax_without_ties": (
        NO_TIES, "a.argmax(1)", "299 - a.flip(1).argmax(1)", "a[:, :150].argmax(1)",
    ),
    "argmin_of_columns": (
        TIES, "a.argmin(0, keepdim=True)", "63 - a.flip(0).argmin(0, keepdim=True)",
        "a.argmax(0, keepdim=True)",
    ),
    "argmax_of_all": (
        TIES, "a.argmax()", "a.numel() - 1 - a.flatten().flip(0).argmax()", "a.argmin()",
    ),
    "middle_dimension": (
        "torch.randint(9, (8, 40, 7)).float()", "a.argmax(1)", "39 - a.flip(1).argmax(1)",
        "a.argmax(1).flip(1)",
    ),
    "max_with_values": (
        TIES, "tuple(a.max(1))", "(a.amax(1), 299 - a.flip(1).argmax(1))",
        "(a.amax(1), a.argmin(1))",
    ),
    "beyond_the_end": (TIES, "a.argmax(1)", "a.argmax(1)", "a.argmax(1) + 300"),
    "topk": (
        TIES, "tuple(a.topk(5, 1))", "(a.topk(5, 1).values, 299 - a.flip(1).topk(5, 1).indices)",
        "(a.topk(5, 1).values, a.argmax(1, keepdim=True).expand(64, 5).contiguous())",
    ),
    "sort": (
        TIES, "a.sort(1, descending=True).indices", SORTED,
        "a.sort(1, descending=True).indices.clamp(min=1)",
    ),
    "argsort": (TIES, "a.argsort(1, descending=True)", SORTED, "a.argsort(1)"),
    "stable_sort": (
        TIES, "a.sort(dim=1, descending=True, stable=True).indices",
        "a.sort(dim=1, descending=True, stable=True).indices", SORTED,
    ),
    "argmax_of_whole_numbers": (
        "torch.randint(9, (64, 300))", "a.argmax(1)", "299 - a.flip(1).argmax(1)",
        "(a - 1).clamp(max=6).argmax(1)",
    ),
    "argmax_of_a_product": (
        PAIR, "(a @ b).argmax(1)", "(a[:, :77] @ b[:77] + a[:, 77:] @ b[77:]).argmax(1)",
        "(a[:, :190] @ b[:190]).argmax(1)",
    ),
    "argmax_of_a_coarse_product": (
        PAIR, "((a @ b) / 8).round().argmax(1)",
        "499 - ((a @ b) / 8).round().flip(1).argmax(1)", "(a @ b / 8).floor().argmax(1)",
    ),
    "a_mask_is_no_position": (TIES, "(a > 4).long()", "(a > 4).long()", "(a > 3).long()"),
}  # fmt: skip


@pytest.fixture(scope="module")
def verdicts(module_warpgym):
    table = {name: (f"return [{made}]", *returned) for name, (made, *returned) in TABLE.items()}
    batch = pairs.write(module_warpgym.folder, table)
    run = module_warpgym.eval("--jobs", "2", batch, timeout=600, expect=SOME_FAILED)
    return pairs.sorted_out(run.verdicts, table)


@pytest.mark.parametrize("name", TABLE)
def test_row(verdicts, name):
    honest, cheat = (verdicts[name, kind] for kind in pairs.KINDS)
    assert honest["status"] == "passed", honest["error"]
    assert cheat["status"] == "wrong", cheat["status"]
