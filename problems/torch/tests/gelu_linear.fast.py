# Bias inside the matrix product and one fused GELU instead of five passes over the output.
import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outputs, inputs))
        self.bias = nn.Parameter(torch.randn(outputs))

    def forward(self, x):
        return F.gelu(torch.addmm(self.bias, x, self.weight.t()))
