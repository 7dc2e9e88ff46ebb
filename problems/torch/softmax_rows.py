"""Softmax of each row of a matrix.

Category: normalization
"""

import torch
from torch import nn

ROWS = 500
COLS = 1537


class Model(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1)


def get_inputs():
    return [torch.randn(ROWS, COLS)]


def get_init_inputs():
    return []
