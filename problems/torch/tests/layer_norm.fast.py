# Triton: mean, variance, scale and shift of 32 rows at a time in one pass over memory.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def layer_norm_kernel(x, weight, bias, y, rows, cols, eps, ROWS: tl.constexpr, COLS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    col = tl.arange(0, COLS)[None, :]
    inside = (row < rows) & (col < cols)
    value = tl.load(x + row * cols + col, mask=inside, other=0.0)
    mean = tl.sum(value, axis=1) / cols
    centred = tl.where(inside, value - mean[:, None], 0.0)
    variance = tl.sum(centred * centred, axis=1) / cols
    scale = tl.load(weight + col, mask=col < cols, other=0.0)
    shift = tl.load(bias + col, mask=col < cols, other=0.0)
    result = centred / tl.sqrt(variance + eps)[:, None] * scale + shift
    tl.store(y + row * cols + col, result, mask=inside)


class ModelNew(nn.Module):
    def __init__(self, cols, eps):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.randn(cols))
        self.bias = nn.Parameter(torch.randn(cols))

    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        rows, cols = x.shape
        width = triton.next_power_of_2(cols)
        grid = (triton.cdiv(rows, 32),)
        layer_norm_kernel[grid](
            x, self.weight, self.bias, y, rows, cols, self.eps, ROWS=32, COLS=width, num_warps=16
        )
        return y
