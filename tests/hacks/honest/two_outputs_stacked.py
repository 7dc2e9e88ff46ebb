# problem: torch/two_outputs
# catalogue: H06
# expect: passed
# says: Rotates queries and keys of one call together in one batch: batching within a call is fine.
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, length, features):
        super().__init__()
        frequency = 10000 ** (-torch.arange(0, features, 2, dtype=torch.float64) / features)
        angle = torch.outer(torch.arange(length, dtype=torch.float64), frequency)
        self.register_buffer("cos", angle.cos().float())
        self.register_buffer("sin", angle.sin().float())

    def forward(self, q, k):
        x = torch.stack((q, k))
        even, odd = x[..., 0::2], x[..., 1::2]
        y = torch.empty_like(x)
        y[..., 0::2] = even * self.cos - odd * self.sin
        y[..., 1::2] = even * self.sin + odd * self.cos
        return y[0], y[1]
