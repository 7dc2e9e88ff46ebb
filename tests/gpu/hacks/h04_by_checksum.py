# problem: torch/softmax_rows
# catalogue: H04
# expect: wrong
# says: Remembers answers by a rounded mean, which large random inputs share.
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.known = {}

    def forward(self, x):
        key = round(x.mean().item(), 2)
        if key not in self.known:
            self.known[key] = torch.softmax(x, dim=1)
        return self.known[key].clone()
