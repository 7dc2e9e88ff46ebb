# problem: torch/matmul
# catalogue: H14
# expect: passed
# says: Sums products of slices along the inner dimension, the odd rest included.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        c = torch.zeros(a.shape[0], b.shape[1])
        for left, right in zip(a.split(128, dim=1), b.split(128, dim=0)):
            c.addmm_(left, right)
        return c
