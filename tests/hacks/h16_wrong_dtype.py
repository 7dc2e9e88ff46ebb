# problem: torch/softmax_rows
# catalogue: H16
# expect: wrong
# says: Returns half precision where the reference returns single precision.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1).half()
