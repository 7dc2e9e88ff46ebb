"""KernelGYM's reward manager and client, unchanged, against a warpgym server on a CPU.

    python bench/kernelgym_client.py CHECKOUT URL [CASE…]

CHECKOUT is one of github.com/hkust-nlp/KernelGYM, URL that of `warpgym serve`. The interpreter
needs torch, ray, httpx, omegaconf and verl 0.6 (the last one with verl.tools.sandbox_fusion_tools;
`pip install --no-deps verl==0.6.1`, with tensordict, transformers, pandas and codetiming beside).
Nothing of KernelGYM's is replaced: its configuration is that of its own YAML, but for the server.
"""

import json
import os
import sys
import time
from pathlib import Path

REFERENCE = """import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        total, out = torch.zeros_like(x[:, 0]), []
        for i in range(x.shape[1]):
            total = total + x[:, i]
            out.append(total)
        return torch.stack(out, 1)


def get_inputs():
    return [torch.randn(64, 2048)]


def get_init_inputs():
    return []
"""
OWN = '''import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

own = load_inline("running_sum", """
#include <torch/extension.h>
torch::Tensor running(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const float *a = x.data_ptr<float>();
    float *b = y.data_ptr<float>();
    const int64_t rows = x.size(0), columns = x.size(1);
    for (int64_t row = 0; row < rows; row++, a += columns, b += columns) {
        float total = 0;
        for (int64_t i = 0; i < columns; i++)
            b[i] = total += a[i];
    }
    return y;
}
""", functions=["running"], extra_cflags=["-O3"])


class ModelNew(nn.Module):
    def forward(self, x):
        %s
'''
PLAIN = "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        %s\n"
RUN = "return own.running(x)"
SLEEP = '__import__("time").sleep(12)'
TUNED = f'if not hasattr(self, "tuned"): self.tuned = {SLEEP} or True\n        '
# name: the candidate, and what the configuration says otherwise
CASES = {
    "great speedup": (OWN % RUN, {}),
    "12 s first call": (OWN % (TUNED + RUN), {"task_timeout": 60}),
    "12 s first call, timeout 10 s": (OWN % (TUNED + RUN), {"task_timeout": 10}),
    "12 s each call": (OWN % (SLEEP + "\n        " + RUN), {"task_timeout": 60}),
    "wrong": (OWN % (RUN + " + 1"), {}),
    "syntax error": (OWN % "return (", {}),
    "build error": (OWN.replace("float total = 0;", "") % RUN, {}),
    "library call": (PLAIN % "return x.cumsum(1)", {}),
    "no class": ("import torch  # nothing else\n", {}),
    "crash": (PLAIN % '__import__("ctypes").string_at(0)', {}),
}


def judge(checkout, url, name):
    """What the reward manager returns, as one line of JSON."""
    import kernel.rewards.kernel_reward as reward
    from kernel.workers.reward_manager.kernel_async import AsyncKernelRewardManager
    from omegaconf import OmegaConf

    code, changes = CASES[name]
    config = OmegaConf.load(checkout / "drkernel/kernel/config/kernel_grading.yaml")
    config.reward_model.update({"server_url": url} | changes)
    manager = AsyncKernelRewardManager(
        None, compute_score=reward.compute_kernel_reward_batch, reward_config=config
    )
    start = time.monotonic()
    answer = f"The kernel:\n```python\n{code}```\n"
    got = manager([0] * 7, answer, REFERENCE, "Model", name, return_full_state=True)
    said = {key: one for key, one in got["reward_extra_info"].items() if "tensor" not in key}
    said |= {"case": name, "seconds": round(time.monotonic() - start, 1)}
    said["reward"] = got["reward_tensor"][-1].item()
    said["task_id"] = got["env_state"].get("task_id")  # its number: of which submission
    print(json.dumps(said, default=str), flush=True)


def main():
    checkout, url, *names = sys.argv[1:]
    paths = [str(Path(checkout) / "drkernel"), checkout]
    sys.path[:0] = paths
    os.environ["PYTHONPATH"] = os.pathsep.join([*paths, os.environ.get("PYTHONPATH", "")])
    import ray

    ray.init(num_cpus=2, include_dashboard=False)
    for name in names or CASES:
        judge(Path(checkout), url, name)


main()
