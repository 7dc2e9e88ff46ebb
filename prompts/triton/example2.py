"""A program to a row, which stays in registers between the sum of squares and the result."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def rms_norm_kernel(x, weight, y, cols, eps, BLOCK: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * cols
    at = tl.arange(0, BLOCK)
    inside = at < cols
    row = tl.load(x + start + at, mask=inside, other=0.0)
    scale = 1.0 / tl.sqrt(tl.sum(row * row, axis=0) / cols + eps)
    result = row * scale * tl.load(weight + at, mask=inside, other=0.0)
    tl.store(y + start + at, result, mask=inside)


class ModelNew(nn.Module):
    def __init__(self, cols, eps):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.randn(cols))

    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        cols = x.shape[-1]
        grid = (x.numel() // cols,)
        rms_norm_kernel[grid](x, self.weight, y, cols, self.eps, BLOCK=triton.next_power_of_2(cols))
        return y
