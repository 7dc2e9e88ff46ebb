"""Running sum along each row of the elements that a mask lets through.

Category: scan
"""

import torch
from torch import nn

ROWS = 500
COLS = 777


class Model(nn.Module):
    def forward(self, x, mask):
        return torch.cumsum(x * mask, dim=1)


def get_inputs():
    return [torch.randn(ROWS, COLS), torch.randint(0, 2, (ROWS, COLS), dtype=torch.bool)]


def get_init_inputs():
    return []
