"""Residual block of a transformer: layer norm, linear, GELU, linear, plus input.

Category: network
"""

import torch
from torch import nn

ROWS = 200
FEATURES = 128
HIDDEN = 512


class Model(nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        self.norm = nn.LayerNorm(features)
        self.up = nn.Linear(features, hidden)
        self.gelu = nn.GELU()
        self.down = nn.Linear(hidden, features)
        # The usual values would hide a candidate that leaves them out.
        nn.init.normal_(self.norm.weight)
        nn.init.normal_(self.norm.bias)
        nn.init.normal_(self.down.weight, std=2 * hidden**-0.5)

    def forward(self, x):
        return x + self.down(self.gelu(self.up(self.norm(x))))


def get_inputs():
    return [torch.randn(ROWS, FEATURES) + 0.5]


def get_init_inputs():
    return [FEATURES, HIDDEN]
