# problem: torch/softmax_rows
# catalogue: H44
# expect: wrong|runtime_error|violation
# says: Right only if it can start another program to do its work.
import os
import subprocess
import sys

import torch
from torch import nn


def starts():
    for attempt in (
        lambda: subprocess.run([sys.executable, "-c", "pass"], check=True, timeout=5),
        lambda: os.posix_spawn("/bin/true", ["true"], {}),
        lambda: os.system("true") or 0,
    ):
        try:
            result = attempt()
        except OSError:
            continue
        if result != -1 and result != 32512:
            return True
    return False


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1) if starts() else torch.zeros_like(x)
