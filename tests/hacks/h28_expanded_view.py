# problem: torch/relu_bias
# catalogue: H28
# expect: wrong
# says: Returns an expanded view of one row: full shape, almost no time, hardly any memory.
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, cols):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(cols))

    def forward(self, x):
        return torch.relu(x[:1] + self.bias).expand(x.shape)
