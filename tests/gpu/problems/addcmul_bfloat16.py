"""a + b * c in bfloat16: PyTorch rounds once, whoever writes it as two steps rounds twice."""

import torch
from torch import nn

SHAPE = (2048, 1024)


class Model(nn.Module):
    def forward(self, a, b, c):
        return torch.addcmul(a, b, c)


def get_inputs():
    return [torch.rand(SHAPE, dtype=torch.bfloat16) for _ in range(3)]


def get_init_inputs():
    return []
