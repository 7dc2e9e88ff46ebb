"""One matrix product for each element of a batch, as an einsum.

Category: matmul
"""

import torch
from torch import nn

BATCH = 59
M = 64
K = 96
N = 80


class Model(nn.Module):
    def forward(self, a, b):
        return torch.einsum("bik,bkj->bij", a, b)


def get_inputs():
    return [torch.randn(BATCH, M, K), torch.randn(BATCH, K, N)]


def get_init_inputs():
    return []
