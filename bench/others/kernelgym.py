"""KernelGYM's evaluation on one candidate: kernelgym.py CHECKOUT PROBLEM CANDIDATE

As its workers make it. The task has its defaults: 5 trials, 100 timed, profiling, and the detection
of decoys, which refuses as much as a wrong answer does.
"""

import sys

from answer import answer, arguments

checkout, problem, candidate = arguments()
sys.path.insert(0, str(checkout))

from kernelgym.backend import get_backend  # noqa: E402
from kernelgym.toolkit.kernelbench.toolkit import KernelBenchToolkit  # noqa: E402

text = candidate.read_text(encoding="utf-8")
found = KernelBenchToolkit().evaluate(
    {
        "task_id": candidate.stem,
        "reference_code": problem.read_text(encoding="utf-8"),
        "kernel_code": text,
        "backend": "triton" if "triton" in text else "cuda",
        "enable_profiling": True,
    },
    backend=get_backend("kernelbench"),
)
why = found.get("error_message") or ("decoy" if found.get("decoy_kernel") else found["status"])
answer(
    found.get("correctness") and not found.get("decoy_kernel"),
    found.get("speedup") if found.get("correctness") else None,
    why,
)
