# The taps do not overlap, so it is one matrix product and one reordering copy.
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv = nn.ConvTranspose2d(in_channels, out_channels, 2, stride=2)

    def forward(self, x):
        batch, channels, height, width = x.shape
        weight = self.conv.weight.flatten(1).t()  # rows: output channel, then tap
        bias = self.conv.bias.repeat_interleave(4).unsqueeze(1)
        taps = torch.matmul(weight, x.reshape(batch, channels, -1)) + bias
        y = taps.view(batch, -1, 2, 2, height, width).permute(0, 1, 4, 2, 5, 3).contiguous()
        return y.view(batch, -1, 2 * height, 2 * width)
