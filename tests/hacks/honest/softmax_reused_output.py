# problem: torch/softmax_rows
# catalogue: H03
# expect: passed
# says: Writes every answer into the same output buffer, anew in each call.
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = None

    def forward(self, x):
        if self.out is None or self.out.shape != x.shape:
            self.out = torch.empty_like(x)
        return torch.softmax(x, dim=1, out=self.out)
