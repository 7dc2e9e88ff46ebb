# problem: torch/row_max_index
# catalogue: H16
# expect: wrong
# says: Returns the first of two outputs only, and that twice.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        largest = torch.amax(x, dim=1)
        return largest, largest
