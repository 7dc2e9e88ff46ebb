"""A linear layer followed by the exact GELU.

Category: matmul
"""

import math

import torch
from torch import nn

ROWS = 256
INPUTS = 300
OUTPUTS = 400


class Model(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outputs, inputs) / math.sqrt(inputs))
        self.bias = nn.Parameter(torch.randn(outputs))

    def forward(self, x):
        y = x @ self.weight.t() + self.bias
        return 0.5 * y * (1 + torch.erf(y / math.sqrt(2)))


def get_inputs():
    return [torch.randn(ROWS, INPUTS)]


def get_init_inputs():
    return [INPUTS, OUTPUTS]
