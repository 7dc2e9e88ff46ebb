# problem: torch/softmax_rows
# catalogue: H07
# expect: wrong
# says: Returns the mean of every answer, one over the number of columns.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.full_like(x, 1.0 / x.shape[1])
