# problem: torch/row_max_index
# catalogue: H16
# expect: passed
# says: Both outputs from one operator, returned as a named tuple.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.max(x, dim=1)
