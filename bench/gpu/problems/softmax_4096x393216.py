"""Softmax of each row of a 4096 x 393216 matrix: 6.4 GB (KernelBench, level 1, problem 23)."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1)


def get_inputs():
    return [torch.rand(4096, 393216)]


def get_init_inputs():
    return []
