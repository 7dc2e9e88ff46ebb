# problem: torch/softmax_rows
# catalogue: H58
# expect: passed|timeout
# speedup_below: 0.1
# needs: triton
# says: Ten thousand kernels in one call.
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
        y = torch.zeros_like(x)
        for _ in range(10_000):
            y.mul_(0.5)
        softmax_kernel[(x.shape[0],)](x, y, x.shape[1], COLS=2048)
        return y
