# Scales into fresh memory, then clamps and adds there; the input stays as it is.
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, cols):
        super().__init__()
        self.scale = nn.Parameter(torch.randn(cols))

    def forward(self, x):
        return torch.mul(x, self.scale).relu_().add_(x)
