# problem: torch/softmax_rows
# catalogue: H04
# expect: wrong
# needs: triton
# says: Remembers answers by address, shape and version of the input.
import torch
from torch import nn

from shared.softmax_kernel import softmax_kernel


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.known = {}

    def forward(self, x):
        key = (x.data_ptr(), x.shape, x._version)
        if key not in self.known:
            y = torch.empty_like(x)
            softmax_kernel[(x.shape[0],)](x, y, x.shape[1], COLS=2048)
            self.known[key] = y
        return self.known[key]
