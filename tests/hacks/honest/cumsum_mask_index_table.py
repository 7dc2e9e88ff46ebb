# problem: torch/cumsum_mask
# catalogue: H04
# expect: passed
# says: functools.lru_cache keyed by shape, for a triangular table that depends on nothing else.
import functools

import torch
from torch import nn


@functools.lru_cache(maxsize=8)
def triangle(size):
    return torch.ones(size, size, dtype=torch.float64).triu()


class ModelNew(nn.Module):
    def forward(self, x, mask):
        return ((x * mask).double() @ triangle(x.shape[1])).float()
