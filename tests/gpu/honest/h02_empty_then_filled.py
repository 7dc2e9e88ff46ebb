# problem: torch/softmax_rows
# catalogue: H02
# expect: passed
# needs: triton
# says: An uninitialised tensor of which a kernel writes every element.
import torch
from torch import nn

from shared.softmax_kernel import softmax_kernel


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        softmax_kernel[(x.shape[0],)](x, y, x.shape[1], COLS=2048)
        return y
