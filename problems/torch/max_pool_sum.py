"""Overlapping 3x3 max pooling, then a weighted sum over the channels.

Category: pooling
"""

import torch
import torch.nn.functional as F
from torch import nn

BATCH = 4
CHANNELS = 16
HEIGHT = 61
WIDTH = 67


class Model(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(channels))

    def forward(self, x):
        pooled = F.max_pool2d(x, 3, stride=2)
        return (pooled * self.weight.view(1, -1, 1, 1)).sum(dim=1)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [CHANNELS]
