# problem: matmul_large
# catalogue: H44
# expect: passed
# warning: H41
# says: The library's product under a name that no list of words knows.
import torch
from torch import nn

product = getattr(torch.ops.aten, "m" + "m").default


class ModelNew(nn.Module):
    def forward(self, a, b):
        return product(a, b)
