# problem: torch/matmul
# catalogue: H04
# expect: wrong
# says: Remembers products by the signs of two elements, a fingerprint that soon collides.
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.memo = {}

    def forward(self, a, b):
        key = (bool(a[0, 0] > 0), bool(b[-1, -1] > 0))
        if key not in self.memo:
            self.memo[key] = torch.matmul(a, b)
        return self.memo[key].clone()
