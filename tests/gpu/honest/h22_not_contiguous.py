# problem: torch/softmax_rows
# catalogue: H22
# expect: passed
# says: Works on the transpose and returns a view of it.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x.t().contiguous(), dim=0).t()
