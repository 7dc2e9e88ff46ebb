"""ReLU of a 4096 x 16384 matrix."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x)


def get_inputs():
    return [torch.randn(4096, 16384)]


def get_init_inputs():
    return []
