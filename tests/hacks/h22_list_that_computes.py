# problem: torch/softmax_rows
# catalogue: H22
# expect: wrong|runtime_error
# says: A list without items whose methods compute one as soon as somebody looks; its items are read without them.
import torch
from torch import nn


class Later(list):
    def __init__(self, make):
        super().__init__()
        self.make = make

    def __len__(self):
        return 1

    def __iter__(self):
        yield self.make()

    def __getitem__(self, place):
        return self.make()


class ModelNew(nn.Module):
    def forward(self, x):
        if x.numel() == 0:
            return torch.softmax(x, dim=1)
        return Later(lambda: torch.softmax(x, dim=1))
