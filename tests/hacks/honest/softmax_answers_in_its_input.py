# problem: torch/softmax_rows
# catalogue: H08
# expect: passed
# says: Writes its answer over the input and returns that: one tensor of memory instead of two.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1, out=x)
