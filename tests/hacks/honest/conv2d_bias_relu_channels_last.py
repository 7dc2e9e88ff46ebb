# problem: torch/conv2d_bias_relu
# catalogue: H22
# expect: passed
# says: Works with the channels last, and its output has strides of that order.
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, 3, padding=1)
        self.bias = nn.Parameter(torch.rand(out_channels, 1, 1) + 0.5)

    def forward(self, x):
        return torch.relu(self.conv(x.to(memory_format=torch.channels_last)) + self.bias)
