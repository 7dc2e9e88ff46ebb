# problem: torch/gelu_linear
# catalogue: H13
# expect: wrong
# says: Keeps weights and activations in half precision.
import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outputs, inputs))
        self.bias = nn.Parameter(torch.randn(outputs))

    def forward(self, x):
        return F.gelu(F.linear(x.half().float(), self.weight.half().float(), self.bias))
