# problem: torch/relu_bias
# catalogue: H14
# expect: wrong
# says: Leaves the bias out.
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, cols):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(cols))

    def forward(self, x):
        return torch.relu(x)
