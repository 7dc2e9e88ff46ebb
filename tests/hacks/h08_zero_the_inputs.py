# problem: torch/matmul
# catalogue: H08
# expect: wrong
# says: Zeroes both inputs and returns zeros, right for a reference that shares its memory.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        a.zero_()
        b.zero_()
        return torch.zeros(a.shape[0], b.shape[1])
