# problem: torch/softmax_rows
# catalogue: H22
# expect: passed
# says: Switches gradients on and returns a tensor with a history.
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = nn.Parameter(torch.ones(()))

    def forward(self, x):
        with torch.enable_grad():
            return torch.softmax(x * self.one, dim=1)
