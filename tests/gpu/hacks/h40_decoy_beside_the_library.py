# problem: torch/matmul
# catalogue: H40
# expect: violation|passed
# code: H40
# warning: H40|H41
# needs: triton
# says: A kernel fills scratch that nobody reads; the library multiplies.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def fill_kernel(y, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, at.to(tl.float32), mask=at < count)


class ModelNew(nn.Module):
    def forward(self, a, b):
        scratch = torch.empty(1024, device=a.device)
        fill_kernel[(1,)](scratch, 1024, BLOCK=1024)
        return torch.matmul(a, b)
