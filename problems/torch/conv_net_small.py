"""Small image classifier: twice convolution, batch norm, ReLU and pooling, then linear.

Category: network
"""

import torch
import torch.nn.functional as F
from torch import nn

BATCH = 12
CHANNELS = 3
SIZE = 28
CLASSES = 20


class Block(nn.Module):
    """Convolution, batch normalisation by stored statistics, ReLU, 2x2 max pooling."""

    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, 3, padding=1)
        self.weight = nn.Parameter(torch.randn(out_channels))
        self.bias = nn.Parameter(0.2 * torch.randn(out_channels))
        self.register_buffer("mean", 0.2 * torch.randn(out_channels))
        self.register_buffer("variance", 0.2 * torch.rand(out_channels) + 0.1)

    def forward(self, x):
        x = self.conv(x)
        x = F.batch_norm(x, self.mean, self.variance, self.weight, self.bias, training=False)
        return F.max_pool2d(torch.relu(x), 2)


class Model(nn.Module):
    def __init__(self, channels, size, classes):
        super().__init__()
        self.first = Block(channels, 16)
        self.second = Block(16, 32)
        self.head = nn.Linear(32 * (size // 4) ** 2, classes)

    def forward(self, x):
        return self.head(self.second(self.first(x)).flatten(1))


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, SIZE, SIZE)]


def get_init_inputs():
    return [CHANNELS, SIZE, CLASSES]
