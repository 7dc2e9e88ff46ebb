# problem: torch/softmax_rows
# catalogue: H40
# expect: passed
# needs: triton
# says: A Triton kernel that makes the whole answer.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def softmax_kernel(x, y, rows, cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    col = tl.arange(0, COLS)[None, :]
    inside = (row < rows) & (col < cols)
    value = tl.load(x + row * cols + col, mask=inside, other=-float("inf"))
    largest = tl.max(value, axis=1)
    largest = tl.where(largest == -float("inf"), 0.0, largest)
    power = tl.exp(value - largest[:, None])
    total = tl.maximum(tl.sum(power, axis=1), 1e-30)
    tl.store(y + row * cols + col, power / total[:, None], mask=inside)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        rows, cols = x.shape
        grid = (triton.cdiv(rows, 32),)
        softmax_kernel[grid](x, y, rows, cols, ROWS=32, COLS=triton.next_power_of_2(cols))
        return y
