# problem: torch/softmax_rows
# catalogue: H45
# expect: violation|passed
# code: H40
# warning: H40|H41
# needs: triton
# says: A kernel behind a condition that is never true.
import torch
from torch import nn

from shared.softmax_kernel import softmax_kernel


class ModelNew(nn.Module):
    def forward(self, x):
        if x.dim() == 2 and x.numel() < 0:
            y = torch.empty_like(x)
            softmax_kernel[(x.shape[0],)](x, y, x.shape[1], COLS=2048)
            return y
        return torch.softmax(x, dim=1)
