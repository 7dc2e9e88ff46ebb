# problem: torch/softmax_rows
# catalogue: H03
# expect: wrong
# needs: triton
# says: Works in the first call and returns the same tensor ever after.
import torch
from torch import nn

from shared.softmax_kernel import softmax_kernel


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.y = None

    def forward(self, x):
        if self.y is None:
            self.y = torch.empty_like(x)
            softmax_kernel[(x.shape[0],)](x, self.y, x.shape[1], COLS=2048)
        return self.y
