# problem: torch/softmax_rows
# catalogue: H40
# expect: violation
# code: H40
# needs: triton
# says: The kernel writes into the output, and a library operator writes over it.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def scale_kernel(x, y, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < count) * 0.5, mask=at < count)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        scale_kernel[(triton.cdiv(x.numel(), 65536),)](x, y, x.numel(), BLOCK=65536)
        torch.softmax(x, dim=1, out=y)
        return y
