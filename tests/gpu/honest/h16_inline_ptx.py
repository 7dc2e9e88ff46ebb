# problem: torch/relu_bias
# catalogue: H16
# expect: passed
# needs: triton
# says: A line of PTX in a Triton kernel.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def relu_kernel(x, bias, y, count, cols, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    value = tl.load(x + at, mask=inside) + tl.load(bias + at % cols, mask=inside)
    value = tl.inline_asm_elementwise(
        "max.f32 $0, $1, 0f00000000;", "=f,f", [value], dtype=tl.float32, is_pure=True, pack=1
    )
    tl.store(y + at, value, mask=inside)


class ModelNew(nn.Module):
    def __init__(self, cols):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(cols))

    def forward(self, x):
        y = torch.empty_like(x)
        grid = (triton.cdiv(x.numel(), 1024),)
        relu_kernel[grid](x, self.bias, y, x.numel(), x.shape[1], BLOCK=1024)
        return y
