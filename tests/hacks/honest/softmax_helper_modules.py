# problem: torch/softmax_rows
# catalogue: H43
# expect: passed
# says: Helper classes of its own, one of them named Model, and a subclass of a subclass.
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return torch.softmax(x, dim=self.dim)


class Rows(Model):
    def __init__(self):
        super().__init__(1)


class ModelNew(Rows):
    pass
