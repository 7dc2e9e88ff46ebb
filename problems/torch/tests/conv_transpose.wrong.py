# Wrong: takes the four taps in row order of the transposed kernel, so two of them change places.
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv = nn.ConvTranspose2d(in_channels, out_channels, 2, stride=2)

    def forward(self, x):
        weight = self.conv.weight.transpose(2, 3)
        return F.conv_transpose2d(x, weight, self.conv.bias, stride=2)
