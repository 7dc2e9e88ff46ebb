"""Largest element of each row and its position, as floats and integers.

Category: reduction
"""

import torch
from torch import nn

ROWS = 1300
COLS = 501


class Model(nn.Module):
    def forward(self, x):
        return torch.amax(x, dim=1), torch.argmax(x, dim=1)


def get_inputs():
    return [torch.randn(ROWS, COLS)]


def get_init_inputs():
    return []
