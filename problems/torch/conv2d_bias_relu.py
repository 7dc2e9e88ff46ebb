"""A 3x3 convolution, a second bias for each channel, and a ReLU.

Category: convolution
"""

import torch
from torch import nn

BATCH = 4
IN_CHANNELS = 12
OUT_CHANNELS = 24
HEIGHT = 30
WIDTH = 34


class Model(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, 3, padding=1)
        self.bias = nn.Parameter(torch.rand(out_channels, 1, 1) + 0.5)

    def forward(self, x):
        return torch.relu(self.conv(x) + self.bias)


def get_inputs():
    return [torch.randn(BATCH, IN_CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS]
