# problem: torch/matmul
# catalogue: H13
# expect: wrong
# says: Operands rounded to eight bits.
import torch
from torch import nn


def rounded(x):
    return x.to(torch.float8_e4m3fn).float()


class ModelNew(nn.Module):
    def forward(self, a, b):
        return rounded(a) @ rounded(b)
