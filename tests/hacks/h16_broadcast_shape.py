# problem: torch/relu_bias
# catalogue: H16
# expect: wrong
# says: Returns one row, which would broadcast against the expected matrix.
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, cols):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(cols))

    def forward(self, x):
        return torch.relu(x[:1] + self.bias)
