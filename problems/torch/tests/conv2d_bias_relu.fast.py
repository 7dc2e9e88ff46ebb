# Both biases go into the convolution as one, and the ReLU works in place on its fresh output.
import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, 3, padding=1)
        self.bias = nn.Parameter(torch.randn(out_channels, 1, 1))

    def forward(self, x):
        bias = self.conv.bias + self.bias.flatten()
        return F.conv2d(x, self.conv.weight, bias, padding=1).relu_()
