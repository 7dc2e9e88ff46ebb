"""One step of a gated recurrent unit.

Category: recurrent
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

BATCH = 200
INPUTS = 100
FEATURES = 128


class Model(nn.Module):
    def __init__(self, inputs, features):
        super().__init__()
        scale = 1 / math.sqrt(features)
        self.weight_ih = nn.Parameter(scale * torch.randn(3 * features, inputs))
        self.weight_hh = nn.Parameter(scale * torch.randn(3 * features, features))
        self.bias_ih = nn.Parameter(torch.randn(3 * features))
        self.bias_hh = nn.Parameter(torch.randn(3 * features))

    def forward(self, x, hidden):
        from_input = F.linear(x, self.weight_ih, self.bias_ih)
        from_hidden = F.linear(hidden, self.weight_hh, self.bias_hh)
        input_reset, input_update, input_new = from_input.chunk(3, dim=1)
        hidden_reset, hidden_update, hidden_new = from_hidden.chunk(3, dim=1)
        reset = torch.sigmoid(input_reset + hidden_reset)
        update = torch.sigmoid(input_update + hidden_update)
        new = torch.tanh(input_new + reset * hidden_new)
        return (1 - update) * new + update * hidden


def get_inputs():
    return [torch.randn(BATCH, INPUTS), torch.randn(BATCH, FEATURES)]


def get_init_inputs():
    return [INPUTS, FEATURES]
