"""Kernels that use a structure pass, and their cheating twins do not (look_alikes.py)."""

import re

import look_alikes
import pairs
import pytest
from support import ROOT, SOME_FAILED

pytest.importorskip("torch")


@pytest.fixture(scope="module")
def verdicts(module_warpgym):
    batch = pairs.write(module_warpgym.folder, look_alikes.TABLE)
    run = module_warpgym.eval("--jobs", "2", batch, timeout=600, expect=SOME_FAILED)
    return pairs.sorted_out(run.verdicts, look_alikes.TABLE)


@pytest.mark.parametrize("row", look_alikes.TABLE)
def test_pair(verdicts, row):
    honest, cheat = (verdicts[row, kind] for kind in pairs.KINDS)
    assert honest["status"] == "passed", honest["error"]
    assert cheat["status"] == "wrong", cheat["status"]


def test_page_has_the_rows():
    page = (ROOT / "docs/design/look-alikes.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.+?) \| .+? \| passed \| .+? \| wrong \|$", page, re.MULTILINE)
    assert rows == list(look_alikes.TABLE)
