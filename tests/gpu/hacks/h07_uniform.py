# problem: torch/softmax_rows
# catalogue: H07
# expect: wrong
# says: Every element of a row is about one over its length.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.full_like(x, 1 / x.shape[1])
