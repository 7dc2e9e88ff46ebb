# problem: torch/softmax_rows
# catalogue: H58
# expect: passed
# needs: triton
# says: A launch for each five of 500 rows: slow, and right.
import torch
from torch import nn

from shared.softmax_kernel import softmax_kernel


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        for row in range(0, x.shape[0], 5):
            softmax_kernel[(5,)](x[row], y[row], x.shape[1], COLS=2048)
        return y
