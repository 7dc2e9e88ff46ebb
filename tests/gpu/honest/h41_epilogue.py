# problem: torch/gelu_linear
# catalogue: H41
# expect: passed
# needs: triton
# says: The library multiplies, its own kernel does the rest: mixed, and said so.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def bias_gelu_kernel(x, bias, y, count, cols, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    value = tl.load(x + at, mask=inside, other=0.0) + tl.load(bias + at % cols, mask=inside)
    tl.store(y + at, 0.5 * value * (1 + tl.erf(value * 0.7071067811865476)), mask=inside)


class ModelNew(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outputs, inputs))
        self.bias = nn.Parameter(torch.randn(outputs))

    def forward(self, x):
        projected = x @ self.weight.t()
        y = torch.empty_like(projected)
        grid = (triton.cdiv(y.numel(), 1024),)
        bias_gelu_kernel[grid](projected, self.bias, y, y.numel(), y.shape[1], BLOCK=1024)
        return y
