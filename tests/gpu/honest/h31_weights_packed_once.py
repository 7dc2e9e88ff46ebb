# problem: torch/gelu_linear
# catalogue: H31
# expect: passed
# says: Transposes its weights once.
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outputs, inputs))
        self.bias = nn.Parameter(torch.randn(outputs))
        self.packed = None

    def forward(self, x):
        if self.packed is None:
            self.packed = self.weight.t().contiguous()
        return nn.functional.gelu(torch.addmm(self.bias, x, self.packed))
