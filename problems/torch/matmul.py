"""Product of two matrices whose sizes are no multiples of anything.

Category: matmul
"""

import torch
from torch import nn

M = 250
K = 333
N = 190


class Model(nn.Module):
    def forward(self, a, b):
        return torch.matmul(a, b)


def get_inputs():
    return [torch.randn(M, K), torch.randn(K, N)]


def get_init_inputs():
    return []
