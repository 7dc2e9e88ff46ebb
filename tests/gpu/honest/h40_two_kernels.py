# problem: torch/softmax_rows
# catalogue: H40
# expect: passed
# needs: triton
# says: Two kernels of its own, with scratch between them.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def sums_kernel(x, largest, total, cols, COLS: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, COLS)
    value = tl.load(x + row * cols + col, mask=col < cols, other=-float("inf"))
    top = tl.max(value, axis=0)
    tl.store(largest + row, top)
    tl.store(total + row, tl.sum(tl.exp(value - top), axis=0))


@triton.jit
def divide_kernel(x, largest, total, y, count, cols, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    top = tl.load(largest + at // cols, mask=inside)
    value = tl.exp(tl.load(x + at, mask=inside) - top)
    tl.store(y + at, value / tl.load(total + at // cols, mask=inside, other=1.0), mask=inside)


class ModelNew(nn.Module):
    def forward(self, x):
        rows, cols = x.shape
        largest, total = torch.empty(2, rows, device=x.device)
        y = torch.empty_like(x)
        sums_kernel[(rows,)](x, largest, total, cols, COLS=2048)
        grid = (triton.cdiv(x.numel(), 1024),)
        divide_kernel[grid](x, largest, total, y, x.numel(), cols, BLOCK=1024)
        return y
