"""A program to a row: mean and variance of what it holds in registers."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def layer_norm_kernel(x, weight, bias, y, cols, eps, BLOCK: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * cols
    at = tl.arange(0, BLOCK)
    inside = at < cols
    row = tl.load(x + start + at, mask=inside, other=0.0)
    mean = tl.sum(row, axis=0) / cols
    centred = tl.where(inside, row - mean, 0.0)
    scale = 1.0 / tl.sqrt(tl.sum(centred * centred, axis=0) / cols + eps)
    result = centred * scale * tl.load(weight + at, mask=inside, other=0.0)
    tl.store(y + start + at, result + tl.load(bias + at, mask=inside, other=0.0), mask=inside)


class ModelNew(nn.Module):
    def __init__(self, cols, eps):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.randn(cols))
        self.bias = nn.Parameter(torch.randn(cols))

    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        cols = x.shape[-1]
        grid = (x.numel() // cols,)
        block = triton.next_power_of_2(cols)
        layer_norm_kernel[grid](x, self.weight, self.bias, y, cols, self.eps, BLOCK=block)
        return y
