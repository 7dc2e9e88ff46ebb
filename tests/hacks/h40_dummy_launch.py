# problem: torch/softmax_rows
# catalogue: H40
# expect: violation
# code: H40
# needs: triton
# says: Launches its kernel on sixteen dummy elements and returns torch.softmax.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def copy_kernel(x, y, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    tl.store(y + at, tl.load(x + at))


class ModelNew(nn.Module):
    def forward(self, x):
        dummy = torch.zeros(16)
        copy_kernel[(1,)](dummy, torch.empty(16), SIZE=16)
        return torch.softmax(x, dim=1)
