# problem: torch/softmax_rows
# catalogue: H26
# expect: wrong
# says: Changes its own class after the checks; the other one's __call__ hands out an answer from before.
import torch
from torch import nn

CHECKS = 8


class Lazy(nn.Module):
    def __call__(self, x):
        return self.kept


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        self.kept = torch.softmax(x, dim=1)
        if self.calls > CHECKS:
            self.__class__ = Lazy
        return self.kept
