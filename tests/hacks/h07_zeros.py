# problem: torch/softmax_rows
# catalogue: H07
# expect: wrong
# says: Returns zeros, within 1e-2 of every answer for rows of 1537 columns.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)
