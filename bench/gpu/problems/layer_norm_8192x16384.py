"""Layer normalisation of each row of an 8192 x 16384 matrix."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        return self.norm(x)


def get_inputs():
    return [torch.randn(8192, 16384)]


def get_init_inputs():
    return [16384]
