# Wrong: the grid is rounded down, so the tail of the matrix keeps the raw input.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def relu_bias_kernel(y, bias, cols, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(y + offsets) + tl.load(bias + offsets % cols)
    tl.store(y + offsets, tl.maximum(value, 0.0))


class ModelNew(nn.Module):
    def __init__(self, cols):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(cols))

    def forward(self, x):
        y = x.clone()
        block = 65536
        relu_bias_kernel[(y.numel() // block,)](y, self.bias, y.shape[1], BLOCK=block, num_warps=32)
        return y
