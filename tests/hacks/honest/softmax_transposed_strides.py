# problem: torch/softmax_rows
# catalogue: H22
# expect: passed
# says: Its answer has the strides of a transposed matrix: it normalised columns.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x.t().contiguous(), dim=0).t()
