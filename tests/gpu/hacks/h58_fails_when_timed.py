# problem: torch/softmax_rows
# catalogue: H58
# expect: runtime_error|wrong|timeout
# needs: triton
# says: Right in checks; where it sees a second slot, its rows never end.
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
    def __init__(self):
        super().__init__()
        self.first = None

    def forward(self, x):
        self.first = self.first or x.data_ptr()
        y = torch.empty_like(x)
        rows = x.shape[0] if x.data_ptr() == self.first else 1 << 24
        softmax_kernel[(rows,)](x, y, x.shape[1], COLS=2048)
        return y
