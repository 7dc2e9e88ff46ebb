# problem: torch/softmax_rows
# catalogue: H52
# expect: wrong|runtime_error|violation
# says: Fills the output in a finaliser and in an exit handler, when everybody has left.
import atexit
import weakref

import torch
from torch import nn


def fill(x, y):
    y.copy_(torch.softmax(x, dim=1))


class ModelNew(nn.Module):
    def forward(self, x):
        storage = torch.zeros_like(x)
        y = storage.view(x.shape)
        weakref.finalize(y, fill, x, storage)
        atexit.register(fill, x, storage)
        return y
