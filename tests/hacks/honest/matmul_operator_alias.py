# problem: torch/matmul
# catalogue: H44
# expect: passed
# says: A library operator under another name: right, and reported as a library's.
import torch
from torch import nn

multiply = getattr(torch, "mat" + "mul")


class ModelNew(nn.Module):
    def forward(self, a, b):
        return multiply(a, b)
