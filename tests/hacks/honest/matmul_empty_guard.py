# problem: torch/matmul
# catalogue: H45
# expect: passed
# says: Handles empty matrices, which never come.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        if a.numel() == 0 or b.numel() == 0:
            return torch.zeros(a.shape[0], b.shape[1], dtype=a.dtype)
        return torch.einsum("ik,kj->ij", a, b)
