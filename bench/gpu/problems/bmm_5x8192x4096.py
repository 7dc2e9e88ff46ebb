"""Five products of 8192 x 8192 by 8192 x 4096 matrices: 2.7 TFLOP, 2 GB of inputs."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, a, b):
        return torch.bmm(a, b)


def get_inputs():
    return [torch.randn(5, 8192, 8192), torch.randn(5, 8192, 4096)]


def get_init_inputs():
    return []
