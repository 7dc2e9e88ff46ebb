"""Memory of PyTorch problems on a CPU: what a problem takes is the machine's, and what a candidate
takes beyond that is run.memory_bytes."""

import json
import os
import re

import pytest
from support import kernelbench_module, write

SMALL = ["--no-timing", "-s", "run.memory_bytes=64MiB", "-s", "run.threads=1"]
HUGE = "torch.zeros(1).expand(1 << 36)"  # 256 GiB, none of them written
CANDIDATE = """import torch
import torch.nn as nn

class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(width))

    def forward(self, x):
        %s
        return x * x + self.weight
"""


def judged(warpgym, tmp_path, problem, line="pass"):
    path = write(tmp_path / "problem.py", problem)
    answer = write(tmp_path / "answer.py", CANDIDATE % line)
    environment = {"WARPGYM_TORCH_DEVICE": "cpu"}
    return warpgym(
        "eval", "--json", "--quiet", *SMALL, "--problem", path, answer, environment=environment
    ).verdict


def of_rows(rows):
    return kernelbench_module().replace("torch.randn(31, 17)", f"torch.randn({rows}, 17)")


@pytest.mark.parametrize("rows", [31, 600_000])
def test_budget_follows_from_the_problem(warpgym, tmp_path, rows):
    """Of inputs of 40 MB a reference alone makes more than run.memory_bytes."""
    verdict = judged(warpgym, tmp_path, of_rows(rows))
    assert verdict["status"] == "passed", verdict


@pytest.mark.parametrize("rows", [31, 600_000])
def test_candidate_has_a_limit(warpgym, tmp_path, rows):
    verdict = judged(warpgym, tmp_path, of_rows(rows), "torch.ones(1 << 31)")
    assert verdict["status"] == "out_of_memory", verdict
    assert "0.06 GiB: the setting run.memory_bytes" in verdict["error"]["message"]


@pytest.mark.parametrize("text", ["CUDA error: out of memory", "CUBLAS_STATUS_ALLOC_FAILED"])
def test_a_librarys_words_for_it(warpgym, tmp_path, text):
    """Memory that PyTorch's allocator does not ask for: its errors have no class of their own."""
    verdict = judged(warpgym, tmp_path, of_rows(31), f"raise RuntimeError({text!r})")
    assert verdict["status"] == "out_of_memory", verdict
    assert text in verdict["error"]["message"]


def available():
    with open("/proc/meminfo") as file:
        return int(re.search(r"MemAvailable: +(\d+)", file.read())[1]) * 1024


def test_inputs_that_do_not_fit(warpgym, tmp_path):
    """Nothing is made of them, and the verdict has the figures."""
    problem = kernelbench_module().replace("torch.randn(31, 17)", HUGE)
    verdict = judged(warpgym, tmp_path, problem)
    assert verdict["status"] == "unsupported", verdict
    assert verdict["error"]["class"] == "memory", verdict
    assert "768.0 of them arguments of the reference, " in verdict["error"]["message"], verdict


def test_inputs_that_are_not_made(warpgym, tmp_path):
    """Their forms say it: a process that made them would take what others have."""
    values = int(available() * 0.4) // 4
    zeros = f"torch.zeros({values}) + 1 + (1 / 0 if torch.ones(1).is_cpu else 0)"
    problem = kernelbench_module().replace("torch.randn(31, 17)", zeros)
    verdict = judged(warpgym, tmp_path, problem)
    assert verdict["status"] == "unsupported", verdict
    assert verdict["error"]["class"] == "memory", verdict
    assert "of them arguments of the reference, " in verdict["error"]["message"], verdict


def test_reference_that_does_not_fit(warpgym, tmp_path):
    problem = of_rows(31).replace("return ", "torch.ones(1 << 40); return ", 1)
    verdict = judged(warpgym, tmp_path, problem)
    assert verdict["status"] == "unsupported", verdict
    assert verdict["error"]["class"] == "memory", verdict
    assert "more memory than this machine has available, " in verdict["error"]["message"], verdict


def test_answers_that_do_not_fit(warpgym, tmp_path):
    """A reference's zeros take nothing until something reads them: the judge, which copies them."""
    values = int(available() * 0.6) // 4
    zeros = f"torch.from_numpy(__import__('numpy').zeros({values}, 'float32'))"
    problem = kernelbench_module().replace("return ", f"return {zeros}; return ", 1)
    verdict = judged(warpgym, tmp_path, problem)
    assert verdict["status"] == "unsupported", verdict
    assert verdict["error"]["class"] == "memory", verdict
    assert "of them the judge's copies, and" in verdict["error"]["message"], verdict


LIES = """
from warpgym import wire


class Argument:
    def __init__(self, struct):
        self.struct, self.size = struct, struct.size

    def pack(self, role, dtype, offset, *rest):
        return self.struct.pack(role, dtype, offset + (1 << 34), *rest)

    def unpack_from(self, data, at):
        fields = list(self.struct.unpack_from(data, at))
        fields[2] &= (1 << 34) - 1
        return tuple(fields)


wire.ARGUMENT = Argument(wire.ARGUMENT)
"""


def test_problem_that_lies_about_its_inputs(warpgym, tmp_path):
    """The judge writes nowhere but into the memory that it made for them."""
    verdict = judged(warpgym, tmp_path, kernelbench_module() + LIES)
    assert verdict["status"] == "infrastructure_error", verdict
    assert "inputs that cannot be" in verdict["error"]["message"]


def test_outputs_that_are_not_the_references_are_not_read(warpgym, tmp_path):
    """One tensor a hundred times: the judge would have a copy of each, 1.6 GB."""
    problem = write(tmp_path / "problem.py", kernelbench_module())
    answer = write(tmp_path / "answer.py", CANDIDATE % "return (torch.zeros(1 << 22),) * 100")
    process = warpgym.start(
        *("eval", "--json", "--quiet", "--no-timing", "--problem", problem, answer),
        environment={"WARPGYM_TORCH_DEVICE": "cpu"},
    )
    verdict = json.loads(process.stdout.read())
    _, _, used = os.wait4(process.pid, 0)
    assert "it returned 100 tensors" in verdict["error"]["message"], verdict
    assert used.ru_maxrss < 1_000_000  # kB, of the judge or of its largest child
