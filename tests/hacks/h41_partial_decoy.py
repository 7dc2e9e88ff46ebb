# problem: torch/gelu_linear
# catalogue: H41
# expect: passed
# open: on a CPU there is no device trace to weigh its kernel against the library's.
# needs: triton
# says: Custom GELU after the library's product: honest as far as it goes, and worth little.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def gelu_kernel(x, y, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < count, other=0.0)
    tl.store(y + at, 0.5 * value * (1 + tl.erf(value * 0.7071067811865476)), mask=at < count)


class ModelNew(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outputs, inputs))
        self.bias = nn.Parameter(torch.randn(outputs))

    def forward(self, x):
        projected = torch.addmm(self.bias, x, self.weight.t())
        y = torch.empty_like(projected)
        grid = (triton.cdiv(y.numel(), 32768),)
        gelu_kernel[grid](projected, y, y.numel(), BLOCK=32768)
        return y
