"""Rotary position embedding of queries and of keys, returned as a pair.

Category: elementwise
"""

import torch
from torch import nn

BATCH = 2
HEADS = 6
LENGTH = 150
FEATURES = 64


class Model(nn.Module):
    def __init__(self, length, features):
        super().__init__()
        frequency = 10000 ** (-torch.arange(0, features, 2, dtype=torch.float64) / features)
        angle = torch.outer(torch.arange(length, dtype=torch.float64), frequency)
        self.register_buffer("cos", angle.cos().float())
        self.register_buffer("sin", angle.sin().float())

    def rotate(self, x):
        even, odd = x[..., 0::2], x[..., 1::2]
        turned = [even * self.cos - odd * self.sin, even * self.sin + odd * self.cos]
        return torch.stack(turned, dim=-1).flatten(-2)

    def forward(self, q, k):
        return self.rotate(q), self.rotate(k)


def get_inputs():
    shape = (BATCH, HEADS, LENGTH, FEATURES)
    return [torch.randn(shape), torch.randn(shape)]


def get_init_inputs():
    return [LENGTH, FEATURES]
