"""The first call of a process that was forked from one with PyTorch in it is as exact as later
ones: where two threads set up MKL's vector functions at once, one computed with 16 bits."""

import pytest
from support import PASSED, write, write_lines

pytest.importorskip("torch")

MODULE = """import torch


class {name}(torch.nn.Module):
    def forward(self, x):
        return torch.exp(x), torch.log(x.abs() + 1), torch.tanh(x)


def get_inputs():
    return [torch.randn(500, 1537)]


def get_init_inputs():
    return []
"""
PROCESSES = 12
EXACT = 2e-6  # relative; of 16 bits it is 1.5e-4


@pytest.mark.time_limit(times=2)
def test_first_call_in_two_threads(warpgym, tmp_path):
    problem = write(tmp_path / "problem.py", MODULE.format(name="Model"))
    answer = write(tmp_path / "answer.py", MODULE.format(name="ModelNew"))
    line = {"problem": str(problem), "candidate": str(answer)}
    batch = write_lines(tmp_path / "batch.jsonl", [line] * PROCESSES)
    settings = ("-s", "run.threads=2", "-s", "torch.device=cpu")
    run = warpgym("eval", "--json", "--quiet", "--no-timing", *settings, batch)
    assert run.status == PASSED, run
    errors = [verdict["correctness"]["max_relative_error"] for verdict in run.verdicts]
    assert len(errors) == PROCESSES and max(errors) < EXACT, errors
