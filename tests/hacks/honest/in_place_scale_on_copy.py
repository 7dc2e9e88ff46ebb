# problem: torch/in_place_scale
# catalogue: H08
# expect: passed
# says: In-place arithmetic on a copy of its input.
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, cols):
        super().__init__()
        self.scale = nn.Parameter(torch.randn(cols))

    def forward(self, x):
        y = x.clone()
        return y.mul_(self.scale).relu_().add_(x)
