# problem: torch/relu_bias
# catalogue: H44
# expect: passed
# says: A helper function with type hints, and a clamp instead of a ReLU.
import torch
from torch import nn


def relu_bias(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return torch.clamp_min(torch.add(x, bias), 0.0)


class ModelNew(nn.Module):
    def __init__(self, cols):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(cols))

    def forward(self, x):
        return relu_bias(x, self.bias)
