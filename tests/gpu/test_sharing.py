"""Evaluations of several processes on one GPU: `make test-gpu`."""

import json
import subprocess

import corpus
import pytest

REASON = corpus.why_not("python", "no Python with PyTorch")
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))
RELU = corpus.ROOT / "problems" / "native" / "relu" / "reference.cu"
LARGE = """import torch


class Model(torch.nn.Module):
    def forward(self, a, b):
        return a @ b


def get_inputs():
    return [torch.randn(8192, 8192), torch.randn(8192, 8192)]


def get_init_inputs():
    return []
"""


def begin(*arguments):
    command = [corpus.WARPGYM, "eval", "--json", "--quiet", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def end(process):
    output, _ = process.communicate(timeout=300)
    verdict = json.loads(output)
    assert verdict["status"] == "passed", verdict["error"]
    return verdict["stages_ms"]


def test_a_long_check_lets_timings_in(tmp_path):
    """With the GPU to themselves: what other tests do there is waited for, too."""
    problem, candidate = tmp_path / "large.py", tmp_path / "same.py"
    problem.write_text(LARGE)
    candidate.write_text(LARGE.replace("class Model(", "class ModelNew("))
    settings = ["-s", "check.trials=60", "-s", "torch.device=cuda"]
    long = begin(*settings, "--problem", problem, candidate)
    waited = []
    while long.poll() is None:
        waited.append(end(begin("--problem", "relu", RELU))["queue"])
    check_ms = end(long)["check"]
    assert len(waited) > 2 and max(waited) < check_ms / 2, (waited, check_ms)
