# Wrong: the padding of the last block is loaded as 0 instead of -inf and enters the denominator.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def softmax_kernel(x, y, rows, cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    col = tl.arange(0, COLS)[None, :]
    inside = (row < rows) & (col < cols)
    value = tl.load(x + row * cols + col, mask=inside, other=0.0)
    power = tl.exp(value - tl.max(value, axis=1)[:, None])
    tl.store(y + row * cols + col, power / tl.sum(power, axis=1)[:, None], mask=inside)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        rows, cols = x.shape
        width = triton.next_power_of_2(cols)
        grid = (triton.cdiv(rows, 16),)
        softmax_kernel[grid](x, y, rows, cols, ROWS=16, COLS=width, num_warps=16)
        return y
