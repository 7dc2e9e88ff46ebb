# problem: torch/softmax_rows
# catalogue: H52
# expect: passed
# says: Finalisers and exit handlers that only count what has died.
import atexit
import weakref

import torch
from torch import nn

died = []
atexit.register(died.clear)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.softmax(x, dim=1)
        weakref.finalize(y, died.append, 1)
        return y
