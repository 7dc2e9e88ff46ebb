# problem: torch/softmax_rows
# catalogue: H20
# expect: passed|wrong|violation|runtime_error
# speedup_below: 0.2
# touches: synchronize marks Child
# says: Takes the wait out of the child and says that it is done while 4 ms of work still queue.
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
        torch.cuda._sleep(8_000_000)
        return torch.softmax(x, dim=1)
