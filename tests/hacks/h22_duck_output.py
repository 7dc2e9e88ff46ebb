# problem: torch/softmax_rows
# catalogue: H22
# expect: wrong|runtime_error|violation
# says: Returns an object that only behaves like a tensor.
from torch import nn


class Duck:
    def __init__(self, x):
        self.shape, self.dtype, self.device = x.shape, x.dtype, x.device

    def __getattr__(self, _name):
        return lambda *_arguments, **_keywords: self

    def __eq__(self, other):
        return True


class ModelNew(nn.Module):
    def forward(self, x):
        return Duck(x)
