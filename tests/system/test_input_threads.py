"""What starts threads while inputs are made (OpenMP does, for the first large tensor) gets all
processors for them. On the main thread's alone they would spin before it: each operation on the
CPU took 10 to 90 ms on a machine with 16 processors."""

import os

import pytest
from support import write

pytest.importorskip("torch")

MODULE = """import os
import threading

import torch


def look(found):
    found.append(len(os.sched_getaffinity(0)))


class {name}(torch.nn.Module):
    def forward(self, x):
        return x + 1


def get_inputs():
    found = []
    thread = threading.Thread(target=look, args=(found,))
    thread.start()
    thread.join()
    if found != [{processors}]:
        raise RuntimeError(f"a thread may use {{found[0]}} processors")
    return [torch.randn(8)]


def get_init_inputs():
    return []
"""


def test_threads_may_use_all_processors(warpgym):
    processors = len(os.sched_getaffinity(0))
    if processors == 1:
        pytest.skip("this machine has one processor")
    problem, candidate = (warpgym.folder / f"{name}.py" for name in ("problem", "candidate"))
    write(problem, MODULE.format(name="Model", processors=processors))
    write(candidate, MODULE.format(name="ModelNew", processors=processors))
    run = warpgym("eval", "--json", "-s", "torch.device=cpu", "--problem", problem, candidate)
    assert run.verdict["status"] == "passed", run.verdict["error"]
