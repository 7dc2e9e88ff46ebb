# problem: torch/softmax_rows
# catalogue: H26
# expect: wrong
# needs: triton
# says: Right in its first eleven calls, then half of the rows.
import torch
from torch import nn

from shared.softmax_kernel import softmax_kernel


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        rows = x.shape[0] if self.calls < 12 else x.shape[0] // 2
        y = torch.empty_like(x)
        softmax_kernel[(rows,)](x, y, x.shape[1], COLS=2048)
        return y
