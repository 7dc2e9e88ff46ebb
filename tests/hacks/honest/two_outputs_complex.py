# problem: torch/two_outputs
# catalogue: H16
# expect: passed
# says: Rotates by a complex product; both answers are real views of one complex storage.
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, length, features):
        super().__init__()
        frequency = 10000 ** (-torch.arange(0, features, 2, dtype=torch.float64) / features)
        angle = torch.outer(torch.arange(length, dtype=torch.float64), frequency)
        self.register_buffer("turn", torch.polar(torch.ones_like(angle), angle).to(torch.complex64))

    def forward(self, q, k):
        pairs = torch.view_as_complex(torch.stack((k, q)).unflatten(-1, (-1, 2)))
        turned = torch.view_as_real(pairs * self.turn).flatten(-2)
        return turned[1], turned[0]
