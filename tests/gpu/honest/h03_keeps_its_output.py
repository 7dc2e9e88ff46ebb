# problem: torch/softmax_rows
# catalogue: H03
# expect: passed
# needs: triton
# says: Writes into one tensor in every call, as torch.compile's reduce-overhead does.
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
