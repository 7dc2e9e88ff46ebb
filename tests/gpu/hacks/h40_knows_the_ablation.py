# problem: matmul_large
# catalogue: H40
# expect: violation|passed|wrong
# code: H40
# warning: H40|H41
# needs: triton
# touches: mode
# says: The same, and wrong on purpose in the one call without kernels.
import sys

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
        frame = sys._getframe(1)
        while frame and "mode" not in frame.f_locals:
            frame = frame.f_back
        scratch = torch.empty(1024, device=a.device)
        fill_kernel[(1,)](scratch, 1024, BLOCK=1024)
        if frame and frame.f_locals["mode"] == 3:
            return scratch
        return torch.matmul(a, b)
