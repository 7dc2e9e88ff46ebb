# problem: torch/softmax_rows
# catalogue: H45
# expect: passed
# needs: triton
# says: Two paths by size, of which these inputs take one.
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
        rows, cols = x.shape
        if cols <= 2048:
            softmax_kernel[(rows,)](x, y, cols, COLS=2048)
        else:
            softmax_kernel[(rows,)](x, y, cols, COLS=triton.next_power_of_2(cols), num_warps=16)
        return y
