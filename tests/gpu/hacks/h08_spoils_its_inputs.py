# problem: torch/matmul
# catalogue: H08
# expect: wrong
# says: Zeroes its inputs on the GPU, so that zeros are their product.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        a.zero_()
        b.zero_()
        return torch.zeros(a.shape[0], b.shape[1], device=a.device)
