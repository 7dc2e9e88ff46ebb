# Wrong: adds eps to the root instead of adding it under the root.
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, cols, eps):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.randn(cols))

    def forward(self, x):
        root = torch.linalg.vector_norm(x, dim=-1, keepdim=True) * x.shape[-1] ** -0.5
        return x * (self.weight / (root + self.eps))
