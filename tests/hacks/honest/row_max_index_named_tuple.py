# problem: torch/row_max_index
# catalogue: H16
# expect: passed
# says: Returns the named tuple of torch.max as it is, which is a class of its own.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.max(x, dim=1)
