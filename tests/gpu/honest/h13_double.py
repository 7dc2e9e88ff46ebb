# problem: torch/matmul
# catalogue: H13
# expect: passed
# says: More precision than anybody asked for.
from torch import nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        return (a.double() @ b.double()).float()
