# problem: torch/softmax_rows
# catalogue: H16
# expect: passed
# says: Returns its only tensor in a tuple, which holds the same tensors as the reference's answer.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return (torch.softmax(x, dim=1),)
