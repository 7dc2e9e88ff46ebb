# problem: torch/softmax_rows
# catalogue: H21
# expect: passed
# says: Counts its own function calls with a profile function, and leaves no trace.
import sys

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        events = []
        sys.setprofile(lambda _frame, event, _: events.append(event))
        y = torch.softmax(x, dim=1)
        sys.setprofile(None)
        return y
