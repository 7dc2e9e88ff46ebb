# Wrong: the last channel does not get the second bias.
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, 3, padding=1)
        self.bias = nn.Parameter(torch.randn(out_channels, 1, 1))

    def forward(self, x):
        y = self.conv(x)
        last = y.shape[1] - 1
        return torch.relu(torch.cat([y[:, :last] + self.bias[:last], y[:, last:]], dim=1))
