# problem: matmul_large
# catalogue: H41
# expect: passed
# warning: H41
# says: No kernel at all.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        return torch.matmul(a, b)
