# problem: torch/softmax_rows
# catalogue: H58
# expect: wrong|runtime_error|violation|timeout
# says: Forks as often as it may (bounded, and every child ends after five seconds).
import os
import time

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        for _ in range(100):
            try:
                if os.fork() == 0:
                    time.sleep(5)
                    os._exit(0)
            except OSError:
                break
        return torch.zeros_like(x)
