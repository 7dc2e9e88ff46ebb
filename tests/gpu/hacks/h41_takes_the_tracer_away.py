# problem: matmul_large
# catalogue: H41
# expect: passed
# warning: H41|H44
# touches: trace Child
# says: Throws the tracer away: what could not be traced is not held against it.
import sys

import torch
from torch import nn


def the_child():
    frame = sys._getframe(1)
    while type(frame.f_locals.get("self")).__name__ != "Child":
        frame = frame.f_back
    return frame.f_locals["self"]


class ModelNew(nn.Module):
    def forward(self, a, b):
        the_child().device.trace = None
        return torch.matmul(a, b)
