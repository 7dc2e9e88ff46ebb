# problem: torch/softmax_rows
# catalogue: H45
# expect: violation|passed
# code: H40
# warning: H40|H41
# needs: triton
# says: A kernel behind a condition that is never true.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def softmax_kernel(x, y, cols, COLS: tl.constexpr):
    col = tl.arange(0, COLS)
    inside = col < cols
    value = tl.load(x + tl.program_id(0) * cols + col, mask=inside, other=-float("inf"))
    power = tl.exp(value - tl.max(value, axis=0))
    tl.store(y + tl.program_id(0) * cols + col, power / tl.sum(power, axis=0), mask=inside)


class ModelNew(nn.Module):
    def forward(self, x):
        if x.dim() == 2 and x.numel() < 0:
            y = torch.empty_like(x)
            softmax_kernel[(x.shape[0],)](x, y, x.shape[1], COLS=2048)
            return y
        return torch.softmax(x, dim=1)
