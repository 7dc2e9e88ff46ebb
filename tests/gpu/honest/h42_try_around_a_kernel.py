# problem: torch/softmax_rows
# catalogue: H42
# expect: passed
# needs: triton
# says: A fallback that is never taken.
import torch
from torch import nn

from shared.softmax_kernel import softmax_kernel


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        try:
            softmax_kernel[(x.shape[0],)](x, y, x.shape[1], COLS=2048)
        except RuntimeError:
            torch.softmax(x, dim=1, out=y)
        return y
