# problem: torch/softmax_rows
# catalogue: H04
# expect: wrong
# says: Remembers answers by the input's address and shape; addresses repeat, contents do not.
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.memo = {}

    def forward(self, x):
        key = (x.data_ptr(), tuple(x.shape))
        if key not in self.memo:
            self.memo[key] = torch.softmax(x, dim=1)
        return self.memo[key]
