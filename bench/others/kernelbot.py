"""GPU MODE's KernelBot on one candidate: kernelbot.py CHECKOUT PROBLEM CANDIDATE

Its evaluation in leaderboard mode, where each timed run gets new inputs and is checked. There a
problem is a module of its author's; this one is made of KernelBench's form, with that one's
tolerance for float32. There is no speedup: the reference is timed as a submission of its own.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from answer import answer, arguments

SEED = 42
LIMIT_S = 100
REFERENCE = f"""
import torch
import problem
from utils import make_match_reference

torch.manual_seed({SEED})
model = problem.Model(*problem.get_init_inputs()).cuda()


def generate_input(seed):
    torch.manual_seed(seed)
    return [one.cuda() if isinstance(one, torch.Tensor) else one for one in problem.get_inputs()]


@torch.no_grad()
def reference(data):
    return model(*data)


check_implementation = make_match_reference(reference, rtol=1e-4, atol=1e-4)
"""
SUBMISSION = f"""

_model = None


def custom_kernel(data):
    import problem
    import torch

    global _model
    with torch.no_grad():
        if _model is None:
            torch.manual_seed({SEED})
            _model = {{model}}(*problem.get_init_inputs()).cuda()
        return _model(*data)
"""


def run(folder, submission):
    """What it says: a name and a value in each line."""
    (folder / "submission.py").write_text(submission, encoding="utf-8")
    reading, writing = os.pipe()
    run_it = subprocess.Popen(
        [sys.executable, "eval.py", "leaderboard", "cases.txt"],
        cwd=folder,
        env={**os.environ, "POPCORN_FD": str(writing), "POPCORN_SEED": "4711"},
        pass_fds=[writing],
    )
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as said:
        lines = said.read().splitlines()
    run_it.wait(timeout=LIMIT_S)
    return dict(line.split(": ", 1) for line in lines if ": " in line)


checkout, problem, candidate = arguments()
folder = Path(tempfile.mkdtemp(prefix="kernelbot-"))
for name in ("eval.py", "utils.py"):
    shutil.copy(checkout / "problems" / "pmpp_v2" / name, folder)
shutil.copy(problem, folder / "problem.py")
(folder / "reference.py").write_text(REFERENCE, encoding="utf-8")
(folder / "cases.txt").write_text("seed: 1234\n", encoding="utf-8")
said = run(folder, candidate.read_text(encoding="utf-8") + SUBMISSION.format(model="ModelNew"))
correct = said.get("check") == "pass"
speedup = None
if correct:
    plain = run(folder, "from problem import Model\n" + SUBMISSION.format(model="Model"))
    speedup = float(plain["benchmark.0.mean"]) / float(said["benchmark.0.mean"])
shutil.rmtree(folder, ignore_errors=True)
answer(correct, speedup, said.get("benchmark.0.error") or said.get("check") or "no result")
