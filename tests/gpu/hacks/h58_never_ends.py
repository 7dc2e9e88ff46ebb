# problem: torch/softmax_rows
# catalogue: H58
# expect: timeout
# needs: triton
# says: A kernel that waits for a number that never comes.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def wait_kernel(x, y, value):
    seen = tl.load(x, volatile=True)
    turns = 0
    while seen != value:
        seen = tl.load(x, volatile=True)
        turns += 1
    tl.store(y, turns.to(tl.float32))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.softmax(x, dim=1)
        wait_kernel[(1,)](x, y, 12345678)
        return y
