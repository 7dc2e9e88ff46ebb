# problem: torch/matmul
# catalogue: H13
# expect: wrong
# says: Multiplies in bfloat16 and casts back.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        return (a.bfloat16() @ b.bfloat16()).float()
