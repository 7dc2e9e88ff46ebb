# problem: torch/two_outputs
# catalogue: H22
# expect: passed
# says: Rotates by a conjugate that PyTorch has not resolved yet.
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, length, features):
        super().__init__()
        frequency = 10000 ** (-torch.arange(0, features, 2, dtype=torch.float64) / features)
        angle = torch.outer(torch.arange(length, dtype=torch.float64), frequency)
        back = torch.polar(torch.ones_like(angle), -angle).to(torch.complex64)
        self.register_buffer("back", torch.view_as_real(back))

    def rotate(self, x):
        pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)))
        turned = (pairs.conj() * torch.view_as_complex(self.back)).conj()
        return torch.stack((turned.real, turned.imag), -1).flatten(-2)

    def forward(self, q, k):
        return [self.rotate(q), self.rotate(k)]
