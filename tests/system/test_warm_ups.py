"""PyTorch calls that are timed on the CPU are warmed up, in both processes alike: what a candidate
sweeps out of the caches, or brings into them, while it is woken makes no difference then."""

import pytest
from support import write

pytest.importorskip("torch")

MODULE = """import torch


class {name}(torch.nn.Module):
    calls = 0

    def forward(self, x):
        {name}.calls += 1
        if {name}.calls >= {most}:
            raise RuntimeError("called {most} times")
        return x + 1


def get_inputs():
    return [torch.randn(8)]


def get_init_inputs():
    return []
"""
NEVER = 1_000_000
SETTINGS = {
    "timing.min_samples": 12,
    "timing.max_samples": 12,
    "audit.budget_ms": 0,
    "run.threads": 1,
}


# Without warm-ups the candidate is called 18 times and the reference 27; 12 of them are timed.
@pytest.mark.parametrize(
    ("most", "status"),
    [((NEVER, NEVER), "passed"), ((NEVER, 25), "runtime_error"),
     ((34, NEVER), "infrastructure_error")],
)  # fmt: skip
def test_both_are_called_ahead_of_timed_calls(warpgym, most, status):
    problem = warpgym.folder / "problem.py"
    candidate = warpgym.folder / "candidate.py"
    write(problem, MODULE.format(name="Model", most=most[0]))
    write(candidate, MODULE.format(name="ModelNew", most=most[1]))
    settings = [word for name, value in SETTINGS.items() for word in ("-s", f"{name}={value}")]
    run = warpgym("eval", "--json", "--quiet", *settings, "--problem", problem, candidate)
    assert run.verdict["status"] == status, run.verdict["error"]
    if status != "passed":
        assert f"called {min(most)} times" in run.verdict["error"]["message"]

