# problem: torch/matmul
# catalogue: H13
# expect: wrong
# says: Tensor cores at half precision.
from torch import nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        return (a.half() @ b.half()).float()
