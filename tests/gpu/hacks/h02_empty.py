# problem: torch/softmax_rows
# catalogue: H02
# expect: wrong
# says: An uninitialised tensor, in the hope that the block held the reference's answer.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.empty_like(x)
