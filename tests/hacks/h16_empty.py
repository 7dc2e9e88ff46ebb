# problem: torch/softmax_rows
# catalogue: H16
# expect: wrong
# says: Returns no elements: nothing to compare, nothing different.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.empty(0)
