# problem: torch/layer_norm
# catalogue: H03
# expect: wrong
# says: Computes into a buffer on the first call and returns the same buffer from then on.
import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, cols, eps):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.randn(cols))
        self.bias = nn.Parameter(torch.randn(cols))
        self.out = None

    def forward(self, x):
        if self.out is None:
            self.out = F.layer_norm(x, x.shape[-1:], self.weight, self.bias, self.eps)
        return self.out
