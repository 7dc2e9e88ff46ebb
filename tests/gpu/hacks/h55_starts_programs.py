# problem: torch/softmax_rows
# catalogue: H55
# expect: wrong
# says: Starts nvidia-smi, or forks; right only if it may.
import os
import subprocess

import torch
from torch import nn


def can_start():
    try:
        subprocess.run(["nvidia-smi"], check=False, timeout=10)
        return True
    except OSError:
        pass
    try:
        pid = os.fork()
    except OSError:
        return False
    if pid == 0:
        os._exit(0)
    return True


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1) if can_start() else torch.zeros_like(x)
