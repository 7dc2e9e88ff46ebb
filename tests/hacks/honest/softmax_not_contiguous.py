# problem: torch/softmax_rows
# catalogue: H22
# expect: passed
# says: Computes on the transpose and returns a view that is not contiguous.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x.t().contiguous(), dim=0).t()
