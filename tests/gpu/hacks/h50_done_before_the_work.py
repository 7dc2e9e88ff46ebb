# problem: torch/softmax_rows
# catalogue: H50
# expect: wrong|violation
# touches: answer describe inputs synchronize marks Child
# says: Sends DONE itself while 10 ms of work are queued, and keeps quiet afterwards.
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
        child = the_child()
        without_waiting(child)
        y = torch.zeros_like(x)
        torch.cuda._sleep(20_000_000)
        torch.softmax(x, dim=1, out=y)
        slots = len(child.inputs)
        type(child).answer(child, child.describe([y] * slots), 1)
        child.answer = lambda *_: None
        return y
