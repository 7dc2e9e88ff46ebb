"""What no call can be faster than (catalogue H28), and views, which need no time at all."""

import pytest
from support import PASSED, write

pytest.importorskip("torch")

# Now and then another thread of the reference has the interpreter: its answer comes late, as it
# does where its process waits for a processor.
LATE = """import sys
import threading
import time

import torch


def others():
    while True:
        end = time.monotonic() + 0.06
        while time.monotonic() < end:
            pass
        time.sleep(0.03)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        sys.setswitchinterval(0.05)
        threading.Thread(target=others, daemon=True).start()

    def forward(self, x):
        return {view}


def get_inputs():
    return [torch.randn(32, 256, 512)]


def get_init_inputs():
    return []
"""
ANSWER = """import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return {view}
"""


@pytest.mark.parametrize("view", ["x", "x.flatten(1)"])
def test_a_view_beside_a_reference_that_waits(warpgym, tmp_path, view):
    """Before the reference's own clock decided, one in three was a violation on a busy machine."""
    write(tmp_path / "late.py", LATE.format(view=view))
    answer = write(tmp_path / "answer.py", ANSWER.format(view=view))
    verdict = warpgym.eval("-p", "late.py", answer, expect=PASSED).verdict
    assert verdict["integrity"]["violations"] == []
    assert verdict["timing"].get("roofline_fraction") is None, "it need not write its output"
