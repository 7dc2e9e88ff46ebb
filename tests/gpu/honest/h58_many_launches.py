# problem: torch/softmax_rows
# catalogue: H58
# expect: passed
# needs: triton
# says: A launch for each five of 500 rows: slow, and right.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def softmax_kernel(x, y, cols, COLS: tl.constexpr):
    col = tl.arange(0, COLS)
    inside = col < cols
    value = tl.load(x + tl.program_id(0) * cols + col, mask=inside, other=-float("inf"))
    power = tl.exp(value - tl.max(value, axis=0))
    tl.store(y + tl.program_id(0) * cols + col, power / tl.sum(power, axis=0), mask=inside)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        for row in range(0, x.shape[0], 5):
            softmax_kernel[(5,)](x[row], y[row], x.shape[1], COLS=2048)
        return y
