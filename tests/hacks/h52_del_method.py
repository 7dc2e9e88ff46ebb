# problem: torch/softmax_rows
# catalogue: H52
# expect: wrong|runtime_error|violation
# says: An object with __del__ is left behind in the frame and writes the answer when it dies.
import torch
from torch import nn


class Writer:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __del__(self):
        half = self.x.shape[0] // 2  # the other half is never written
        self.y[:half].copy_(torch.softmax(self.x[:half], dim=1))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.zeros_like(x)
        writer = Writer(x, y)  # noqa: F841
        return y
