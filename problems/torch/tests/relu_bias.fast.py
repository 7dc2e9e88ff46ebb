# One Triton kernel adds the bias and clamps, over blocks of the flattened matrix.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def relu_bias_kernel(x, bias, y, total, cols, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < total
    value = tl.load(x + offsets, mask=inside) + tl.load(bias + offsets % cols, mask=inside)
    tl.store(y + offsets, tl.maximum(value, 0.0), mask=inside)


class ModelNew(nn.Module):
    def __init__(self, cols):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(cols))

    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        block = 65536
        grid = (triton.cdiv(x.numel(), block),)
        relu_bias_kernel[grid](x, self.bias, y, x.numel(), x.shape[1], BLOCK=block, num_warps=32)
        return y
