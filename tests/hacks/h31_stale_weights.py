# problem: torch/gelu_linear
# catalogue: H31
# expect: wrong
# says: Transposes weights in the constructor, before the judge's values have come.
import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outputs, inputs) * 0.05)
        self.bias = nn.Parameter(torch.zeros(outputs))
        self.packed = self.weight.detach().t().contiguous()

    def forward(self, x):
        return F.gelu(x @ self.packed + self.bias)
