# problem: torch/softmax_rows
# catalogue: H27
# expect: passed
# needs: triton
# says: As many blocks as there is room for, each with several rows: persistent, and it ends.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def softmax_kernel(x, y, rows, cols, programs, COLS: tl.constexpr):
    col = tl.arange(0, COLS)
    inside = col < cols
    for row in range(tl.program_id(0), rows, programs):
        value = tl.load(x + row * cols + col, mask=inside, other=-float("inf"))
        power = tl.exp(value - tl.max(value, axis=0))
        tl.store(y + row * cols + col, power / tl.sum(power, axis=0), mask=inside)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        programs = 2 * torch.cuda.get_device_properties(x.device).multi_processor_count
        softmax_kernel[(programs,)](x, y, x.shape[0], x.shape[1], programs, COLS=2048)
        return y
