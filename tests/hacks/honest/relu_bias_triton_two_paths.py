# problem: torch/relu_bias
# catalogue: H45
# expect: passed
# needs: triton
# says: Two kernels by size, of which these inputs use one: a branch that isn't taken is no ghost.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def small_kernel(x, bias, y, cols, COLS: tl.constexpr):
    col = tl.arange(0, COLS)
    inside = col < cols
    value = tl.load(x + col, mask=inside) + tl.load(bias + col, mask=inside)
    tl.store(y + col, tl.maximum(value, 0.0), mask=inside)


@triton.jit
def large_kernel(x, bias, y, count, cols, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    value = tl.load(x + at, mask=inside) + tl.load(bias + at % cols, mask=inside)
    tl.store(y + at, tl.maximum(value, 0.0), mask=inside)


class ModelNew(nn.Module):
    def __init__(self, cols):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(cols))

    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        rows, cols = x.shape
        if rows == 1:
            small_kernel[(1,)](x, self.bias, y, cols, COLS=triton.next_power_of_2(cols))
        else:
            grid = (triton.cdiv(x.numel(), 131072),)
            large_kernel[grid](x, self.bias, y, x.numel(), cols, BLOCK=131072)
        return y
