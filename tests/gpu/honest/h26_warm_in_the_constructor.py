# problem: torch/softmax_rows
# catalogue: H26
# expect: passed
# needs: triton
# says: Compiles in the constructor, on inputs of its own.
import torch
from torch import nn

from shared.softmax_kernel import softmax_kernel


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self(torch.zeros(2, 1537, device="cuda"))

    def forward(self, x):
        y = torch.empty_like(x)
        softmax_kernel[(x.shape[0],)](x, y, x.shape[1], COLS=2048)
        return y
