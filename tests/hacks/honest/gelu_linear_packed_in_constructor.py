# problem: torch/gelu_linear
# catalogue: H31
# expect: passed
# says: Draws the weights as the reference does and packs them at once; both children share that seed.
import math

import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outputs, inputs) / math.sqrt(inputs))
        self.bias = nn.Parameter(torch.randn(outputs))
        self.packed = self.weight.detach().t().contiguous()

    def forward(self, x):
        return F.gelu(torch.addmm(self.bias, x, self.packed))
