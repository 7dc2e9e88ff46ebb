# problem: torch/relu_bias
# catalogue: H27
# expect: passed
# needs: triton
# says: Asks the cache to keep the bias and not the rest.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def relu_kernel(x, bias, y, count, cols, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    value = tl.load(x + at, mask=inside, eviction_policy="evict_first") + tl.load(
        bias + at % cols, mask=inside, eviction_policy="evict_last"
    )
    tl.store(y + at, tl.maximum(value, 0.0), mask=inside)


class ModelNew(nn.Module):
    def __init__(self, cols):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(cols))

    def forward(self, x):
        y = torch.empty_like(x)
        grid = (triton.cdiv(x.numel(), 1024),)
        relu_kernel[grid](x, self.bias, y, x.numel(), x.shape[1], BLOCK=1024)
        return y
