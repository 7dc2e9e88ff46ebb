# problem: torch/softmax_rows
# catalogue: H21
# expect: wrong|violation
# touches: synchronize marks Child
# says: Two rows of a hundred come 20 ms after it has said that it is done.
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
    def __init__(self):
        super().__init__()
        self.stream = torch.cuda.Stream()

    def forward(self, x):
        without_waiting(the_child())
        y = torch.zeros_like(x)
        torch.softmax(x[10:], dim=1, out=y[10:])
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            torch.cuda._sleep(40_000_000)
            torch.softmax(x[:10], dim=1, out=y[:10])
        torch.cuda.current_stream().synchronize()
        return y
