"""One step of a long short-term memory: the new hidden state and the new cell.

Category: recurrent
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

BATCH = 150
INPUTS = 100
FEATURES = 128


class Model(nn.Module):
    def __init__(self, inputs, features):
        super().__init__()
        scale = 1 / math.sqrt(features)
        self.weight_ih = nn.Parameter(scale * torch.randn(4 * features, inputs))
        self.weight_hh = nn.Parameter(scale * torch.randn(4 * features, features))
        self.bias_ih = nn.Parameter(torch.randn(4 * features))
        self.bias_hh = nn.Parameter(torch.randn(4 * features))

    def forward(self, x, hidden, cell):
        gates = F.linear(x, self.weight_ih, self.bias_ih)
        gates = gates + F.linear(hidden, self.weight_hh, self.bias_hh)
        take, forget, new, show = gates.chunk(4, dim=1)
        cell = torch.sigmoid(forget) * cell + torch.sigmoid(take) * torch.tanh(new)
        return torch.sigmoid(show) * torch.tanh(cell), cell


def get_inputs():
    state = [torch.randn(BATCH, FEATURES), torch.randn(BATCH, FEATURES)]
    return [torch.randn(BATCH, INPUTS)] + state


def get_init_inputs():
    return [INPUTS, FEATURES]
