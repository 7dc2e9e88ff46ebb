"""Three operators in one pass; the input is only read."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def scale_add_kernel(x, scale, y, count, cols, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    value = tl.load(x + at, mask=inside, other=0.0)
    scaled = value * tl.load(scale + at % cols, mask=inside, other=0.0)
    tl.store(y + at, value + tl.maximum(scaled, 0.0), mask=inside)


class ModelNew(nn.Module):
    def __init__(self, cols):
        super().__init__()
        self.scale = nn.Parameter(torch.randn(cols))

    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        count = x.numel()
        grid = (triton.cdiv(count, 1024),)
        scale_add_kernel[grid](x, self.scale, y, count, self.scale.numel(), BLOCK=1024)
        return y
