"""Limits of time: what a problem itself needs is no fault of a candidate's, and an error names the
setting that it met."""

import pytest
from support import write

PROBLEM = """import time
import torch
from torch import nn

class Model(nn.Module):
    def forward(self, x):
        {reference}
        return x * 2

def get_inputs():
    {inputs}
    return [torch.rand(64)]

def get_init_inputs():
    return []
"""

CANDIDATE = """import time
import torch
from torch import nn

class ModelNew(nn.Module):
    def forward(self, x):
        {call}
        return x + x
"""

SLOW = {"reference": "time.sleep(0.4)", "inputs": "time.sleep(0.4)", "call": "time.sleep(0.4)"}
ENDLESS = "time.sleep(600)"
ENDS_LATE = "self.calls = getattr(self, 'calls', 0) + 1; time.sleep(600 * (self.calls > 2))"


@pytest.mark.parametrize(
    ("changed", "setting", "ending"),
    [
        ({}, "run.timeout_ms=200ms", ("passed", "")),
        (
            {"call": ENDLESS},
            "run.timeout_ms=200ms",
            (
                "timeout",
                "(six times run.timeout_ms, and four times what the reference took)",
            ),
        ),
        (
            {"reference": ENDS_LATE},
            "run.load_timeout_ms=12s",
            (
                "infrastructure_error",
                "failed: one call took longer than 12 s (run.load_timeout_ms)",
            ),
        ),
    ],
)
def test_limits(warpgym, tmp_path, changed, setting, ending):
    texts = SLOW | changed
    problem = write(tmp_path / "problem.py", PROBLEM.format(**texts))
    candidate = write(tmp_path / "candidate.py", CANDIDATE.format(**texts))
    words = ["eval", "--json", "--quiet", "-s", setting, "-s", "timing.max_samples=6"]
    environment = {"WARPGYM_TORCH_DEVICE": "cpu"}
    verdict = warpgym(
        *words, "--problem", problem, candidate, environment=environment
    ).verdict
    status, says = ending
    assert verdict["status"] == status, verdict
    assert says in (verdict["error"] or {"message": ""})["message"], verdict
