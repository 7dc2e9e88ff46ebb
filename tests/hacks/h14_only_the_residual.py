# problem: torch/mlp_block
# catalogue: H14
# expect: wrong
# says: Returns the residual and leaves the block out.
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, features, hidden):
        super().__init__()

    def forward(self, x):
        return x + 0.0
