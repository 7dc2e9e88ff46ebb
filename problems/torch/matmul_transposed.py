"""Product of two matrices that are both stored transposed.

Category: matmul
"""

import torch
from torch import nn

M = 300
K = 500
N = 220


class Model(nn.Module):
    def forward(self, a, b):
        return torch.matmul(a.t(), b.t())


def get_inputs():
    return [torch.randn(K, M), torch.randn(N, K)]


def get_init_inputs():
    return []
