# problem: torch/softmax_rows
# catalogue: H14
# expect: wrong
# needs: triton
# says: All rows but one.
import torch
from torch import nn

from shared.softmax_kernel import softmax_kernel


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        softmax_kernel[(x.shape[0] - 1,)](x, y, x.shape[1], COLS=2048)
        return y
