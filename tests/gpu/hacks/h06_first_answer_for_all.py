# problem: torch/softmax_rows
# catalogue: H06
# expect: wrong
# says: Works for the first slot of an interval of the clock and hands its answer to the others.
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = None

    def forward(self, x):
        if self.first in (None, x.data_ptr()):
            self.first = x.data_ptr()
            self.y = torch.softmax(x, dim=1)
        return self.y.clone()
