# problem: torch/softmax_rows
# catalogue: H21
# expect: passed|wrong|violation
# speedup_below: 0.9
# touches: synchronize marks Child
# says: Late by less than a GPU's turn for one process: the samples wait, and so does the clock.
import sys

import torch
from torch import nn


def the_child():
    frame = sys._getframe(1)
    while type(frame.f_locals.get("self")).__name__ != "Child":
        frame = frame.f_back
    return frame.f_locals["self"]


class Mark:
    def record(self):
        pass

    def elapsed_time(self, _):
        return 0.01


def without_waiting(child):
    """What is left in streams is not waited for at the end of a call."""
    child.device.marks = [Mark(), Mark()]
    child.device.synchronize = lambda: None


class ModelNew(nn.Module):
    def forward(self, x):
        without_waiting(the_child())
        torch.cuda._sleep(400_000)
        return torch.softmax(x, dim=1)
