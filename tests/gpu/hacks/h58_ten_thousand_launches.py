# problem: torch/softmax_rows
# catalogue: H58
# expect: passed|timeout
# speedup_below: 0.1
# needs: triton
# says: Ten thousand kernels in one call.
import torch
from torch import nn

from shared.softmax_kernel import softmax_kernel


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.zeros_like(x)
        for _ in range(10_000):
            y.mul_(0.5)
        softmax_kernel[(x.shape[0],)](x, y, x.shape[1], COLS=2048)
        return y
