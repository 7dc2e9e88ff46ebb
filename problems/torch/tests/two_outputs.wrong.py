# Wrong: the keys start at position 1, not 0; the first output is right.
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, length, features):
        super().__init__()
        frequency = 10000 ** (-torch.arange(0, features, 2, dtype=torch.float64) / features)
        angle = torch.outer(torch.arange(length, dtype=torch.float64), frequency)
        self.register_buffer("cos", angle.cos().float())
        self.register_buffer("sin", angle.sin().float())

    def rotate(self, x, turn):
        pairs = torch.view_as_complex(x.contiguous().unflatten(-1, (-1, 2)))
        return torch.view_as_real(pairs * turn).flatten(-2)

    def forward(self, q, k):
        turn = torch.complex(self.cos, self.sin)
        return self.rotate(q, turn), self.rotate(k, turn * turn[1])
