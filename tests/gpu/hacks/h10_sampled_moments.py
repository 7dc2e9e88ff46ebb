# problem: torch/layer_norm
# catalogue: H10
# expect: wrong
# says: Mean and variance of every fourth column.
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, cols, eps):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.randn(cols))
        self.bias = nn.Parameter(torch.randn(cols))

    def forward(self, x):
        part = x[:, ::4]
        mean = part.mean(dim=1, keepdim=True)
        scale = torch.rsqrt(part.var(dim=1, unbiased=False, keepdim=True) + self.eps)
        return (x - mean) * scale * self.weight + self.bias
