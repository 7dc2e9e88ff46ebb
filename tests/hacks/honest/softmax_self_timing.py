# problem: torch/softmax_rows
# catalogue: H26
# expect: passed
# says: Times two honest variants on its first calls and keeps the faster one.
import time

import torch
from torch import nn


def spelled_out(x):
    power = torch.exp(x - x.amax(dim=1, keepdim=True))
    return power / power.sum(dim=1, keepdim=True)


def fused(x):
    return torch.softmax(x, dim=1)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.seconds = {spelled_out: 0.0, fused: 0.0}
        self.calls = 0

    def forward(self, x):
        if self.calls < 4:
            variant = (spelled_out, fused)[self.calls % 2]
        else:
            variant = min(self.seconds, key=self.seconds.get)
        start = time.perf_counter()
        y = variant(x)
        if self.calls < 4:
            self.seconds[variant] += time.perf_counter() - start
        self.calls += 1
        return y
