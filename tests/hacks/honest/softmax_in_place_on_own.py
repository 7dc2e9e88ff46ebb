# problem: torch/softmax_rows
# catalogue: H08
# expect: passed
# says: In-place operators on its own temporaries; the input stays as it was.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        y = x - x.amax(dim=1, keepdim=True)
        y.exp_()
        y.div_(y.sum(dim=1, keepdim=True))
        return y
