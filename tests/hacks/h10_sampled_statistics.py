# problem: torch/layer_norm
# catalogue: H10
# expect: wrong
# says: Takes mean and variance from half of the columns.
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, cols, eps):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.randn(cols))
        self.bias = nn.Parameter(torch.randn(cols))

    def forward(self, x):
        half = x[:, ::2]
        variance, mean = torch.var_mean(half, dim=-1, unbiased=False, keepdim=True)
        return (x - mean) * torch.rsqrt(variance + self.eps) * self.weight + self.bias
