# problem: torch/gelu_linear
# catalogue: H31
# expect: wrong
# says: Computes the linear layer once and keeps it; weights may be kept, activations may not.
import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outputs, inputs))
        self.bias = nn.Parameter(torch.randn(outputs))
        self.projected = None

    def forward(self, x):
        if self.projected is None:
            self.projected = F.linear(x, self.weight, self.bias)
        return F.gelu(self.projected)
