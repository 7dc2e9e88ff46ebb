# problem: torch/softmax_rows
# catalogue: H20
# expect: passed
# needs: triton
# says: A synchronize at the end of each call, as beginners write it.
import torch
from torch import nn

from shared.softmax_kernel import softmax_kernel


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        softmax_kernel[(x.shape[0],)](x, y, x.shape[1], COLS=2048)
        torch.cuda.synchronize()
        return y
