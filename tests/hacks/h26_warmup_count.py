# problem: torch/softmax_rows
# catalogue: H26
# expect: wrong
# says: Honest for the first calls, then lazy.
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        if self.calls <= 3:
            return torch.softmax(x, dim=1)
        return x.exp() / x.shape[1]
