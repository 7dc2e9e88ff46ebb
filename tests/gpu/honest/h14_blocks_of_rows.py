# problem: torch/softmax_rows
# catalogue: H14
# expect: passed
# says: Four pieces of 128 rows, of which the last is shorter.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        for start in range(0, x.shape[0], 128):
            torch.softmax(x[start : start + 128], dim=1, out=y[start : start + 128])
        return y
