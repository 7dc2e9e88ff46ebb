# problem: torch/softmax_rows
# catalogue: H50
# expect: wrong|violation
# touches: answer describe inputs Child
# says: Says that it is done, then goes on and says it again.
import sys

import torch
from torch import nn


def the_child():
    frame = sys._getframe(1)
    while type(frame.f_locals.get("self")).__name__ != "Child":
        frame = frame.f_back
    return frame.f_locals["self"]


class ModelNew(nn.Module):
    def forward(self, x):
        child = the_child()
        y = torch.softmax(x, dim=1)
        child.answer(child.describe([y] * len(child.inputs)), 1)
        return y
