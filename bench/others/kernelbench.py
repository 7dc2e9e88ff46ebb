"""KernelBench's eval_kernel_against_ref on one candidate: kernelbench.py CHECKOUT PROBLEM CANDIDATE

As its own script for a run's answers calls it: 5 trials, 100 timed.
"""

import sys

import torch
from answer import answer, arguments, without

checkout, problem, candidate = arguments()
sys.path.insert(0, str(checkout / "src"))
without("openai", "litellm", "dotenv")

from kernelbench.eval import eval_kernel_against_ref  # noqa: E402

text = candidate.read_text(encoding="utf-8")
found = eval_kernel_against_ref(
    problem.read_text(encoding="utf-8"),
    text,
    num_correct_trials=5,
    num_perf_trials=100,
    measure_performance=True,
    device=torch.device("cuda:0"),
    backend="triton" if "triton" in text else "cuda",
)
if found is None:
    answer(False, None, "no result: to be tried again")
speedup = found.ref_runtime / found.runtime if found.correctness and found.runtime > 0 else None
answer(found.correctness, speedup, found.metadata)
