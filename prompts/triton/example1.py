"""One pass: a program takes 1024 elements, whatever the rows; the tail is masked."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def relu_bias_kernel(x, bias, y, count, cols, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    value = tl.load(x + at, mask=inside, other=0.0) + tl.load(bias + at % cols, mask=inside, other=0.0)
    tl.store(y + at, tl.maximum(value, 0.0), mask=inside)


class ModelNew(nn.Module):
    def __init__(self, cols):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(cols))

    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        count = x.numel()
        grid = (triton.cdiv(count, 1024),)
        relu_bias_kernel[grid](x, self.bias, y, count, self.bias.numel(), BLOCK=1024)
        return y
