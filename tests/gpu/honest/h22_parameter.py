# problem: torch/softmax_rows
# catalogue: H22
# expect: passed
# says: Returns a subclass of Tensor that everybody knows.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return nn.Parameter(torch.softmax(x, dim=1), requires_grad=False)
