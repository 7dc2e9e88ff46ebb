# problem: torch/softmax_rows
# catalogue: H22
# expect: passed
# says: Its output is a view that negates what lies in memory, as conj().imag makes them.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch._neg_view(-torch.softmax(x, dim=1))
