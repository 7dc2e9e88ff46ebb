# problem: torch/layer_norm
# catalogue: H31
# expect: passed
# says: A registered buffer of constants (a row of 1/cols) serves as the vector that takes means.
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, cols, eps):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.randn(cols))
        self.bias = nn.Parameter(torch.randn(cols))
        self.register_buffer("averaging", torch.full((cols,), 1.0 / cols))

    def forward(self, x):
        centred = x - (x @ self.averaging).unsqueeze(1)
        variance = (centred * centred) @ self.averaging
        return centred * torch.rsqrt(variance + self.eps).unsqueeze(1) * self.weight + self.bias
