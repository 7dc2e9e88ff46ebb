# problem: torch/softmax_rows
# catalogue: H45
# expect: passed
# needs: triton
# says: Two paths by size, of which these inputs take one.
import torch
import triton
from torch import nn

from shared.softmax_kernel import softmax_kernel


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        rows, cols = x.shape
        if cols <= 2048:
            softmax_kernel[(rows,)](x, y, cols, COLS=2048)
        else:
            softmax_kernel[(rows,)](x, y, cols, COLS=triton.next_power_of_2(cols), num_warps=16)
        return y
