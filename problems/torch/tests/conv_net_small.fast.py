# Folds each batch norm into its convolution, once, and clamps after pooling, a quarter of the work.
import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, 3, padding=1)
        self.weight = nn.Parameter(torch.randn(out_channels))
        self.bias = nn.Parameter(torch.randn(out_channels))
        self.register_buffer("mean", torch.zeros(out_channels))
        self.register_buffer("variance", torch.ones(out_channels))
        self.folded = None

    @torch.no_grad()
    def fold(self):
        scale = self.weight * torch.rsqrt(self.variance + 1e-5)
        weight = self.conv.weight * scale.view(-1, 1, 1, 1)
        return weight, (self.conv.bias - self.mean) * scale + self.bias

    def forward(self, x):
        if self.folded is None:
            self.folded = self.fold()
        weight, bias = self.folded
        # The largest of clamped values is the clamped largest value.
        return F.max_pool2d(F.conv2d(x, weight, bias, padding=1), 2).relu_()


class ModelNew(nn.Module):
    def __init__(self, channels, size, classes):
        super().__init__()
        self.first = Block(channels, 16)
        self.second = Block(16, 32)
        self.head = nn.Linear(32 * (size // 4) ** 2, classes)

    def forward(self, x):
        return self.head(self.second(self.first(x)).flatten(1))
