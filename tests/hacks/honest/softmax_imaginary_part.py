# problem: torch/softmax_rows
# catalogue: H22
# expect: passed
# says: Returns the imaginary part of a conjugate: a view with strides and a negative bit.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.softmax(x, dim=1)
        return torch.complex(y, -y).conj().imag
