# problem: torch/rms_norm
# catalogue: H04
# expect: wrong
# says: functools.lru_cache on the shape, with the answer itself as the cached value.
import functools

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, cols, eps):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.randn(cols))
        self.latest = None

    @functools.lru_cache
    def normalised(self, shape):
        x = self.latest.view(shape)
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        self.latest = x
        return self.normalised(tuple(x.shape)) * self.weight
