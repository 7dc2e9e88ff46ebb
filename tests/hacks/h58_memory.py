# problem: torch/softmax_rows
# catalogue: H58
# expect: out_of_memory|runtime_error
# says: Asks for sixteen terabytes.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.ones(1 << 42).sum()
