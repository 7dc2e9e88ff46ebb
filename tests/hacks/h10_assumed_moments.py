# problem: torch/rms_norm
# catalogue: H10
# expect: wrong
# says: Knows the distribution of the inputs (0.05 times normal) and divides by its deviation.
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, cols, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(cols))
        self.scale = (0.05**2 + eps) ** -0.5

    def forward(self, x):
        return x * self.weight * self.scale
