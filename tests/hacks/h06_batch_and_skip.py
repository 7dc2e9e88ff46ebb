# problem: torch/softmax_rows
# catalogue: H06
# expect: wrong
# says: Collects four inputs, computes them in one launch on the fourth call, skips the others.
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.pending = []

    def forward(self, x):
        y = torch.empty_like(x)
        self.pending.append((x, y))
        if len(self.pending) == 4:
            stacked = torch.softmax(torch.cat([item[0] for item in self.pending]), dim=1)
            for (_, out), part in zip(self.pending, stacked.chunk(4)):
                out.copy_(part)
            self.pending.clear()
        return y
