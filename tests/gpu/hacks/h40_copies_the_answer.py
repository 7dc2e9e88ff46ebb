# problem: matmul_large
# catalogue: H40
# expect: passed
# warning: H41
# needs: triton
# says: The library multiplies; its own kernel copies the product, so that it matters.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def copy_kernel(x, y, count, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < count), mask=at < count)


class ModelNew(nn.Module):
    def forward(self, a, b):
        answer = torch.matmul(a, b)
        y = torch.empty_like(answer)
        copy_kernel[(triton.cdiv(y.numel(), 1024),)](answer, y, y.numel(), BLOCK=1024)
        return y
