# problem: torch/rms_norm
# catalogue: H40
# expect: passed
# needs: triton
# says: torch computes the mean squares, a kernel of its own the rest.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def scale_kernel(x, mean, weight, y, rows, cols, eps, ROWS: tl.constexpr, COLS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    col = tl.arange(0, COLS)[None, :]
    inside = (row < rows) & (col < cols)
    factor = 1.0 / tl.sqrt(tl.load(mean + row, mask=row < rows, other=1.0) + eps)
    value = tl.load(x + row * cols + col, mask=inside, other=0.0)
    scale = tl.load(weight + col, mask=col < cols, other=0.0)
    tl.store(y + row * cols + col, value * factor * scale, mask=inside)


class ModelNew(nn.Module):
    def __init__(self, cols, eps):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.randn(cols))

    def forward(self, x):
        y = torch.empty_like(x)
        rows, cols = x.shape
        mean = x.pow(2).mean(dim=1)
        grid = (triton.cdiv(rows, 64),)
        width = triton.next_power_of_2(cols)
        scale_kernel[grid](x, mean, self.weight, y, rows, cols, self.eps, ROWS=64, COLS=width)
        return y
