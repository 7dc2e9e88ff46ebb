# problem: torch/softmax_rows
# catalogue: H29
# expect: passed|wrong|violation
# speedup_below: 1.2
# touches: synchronize marks inputs Side
# says: The reference's operator, and a kernel that spins for 10 ms while the reference is timed.
import sys

import torch
from torch import nn


def the_side():
    frame = sys._getframe(1)
    while type(frame.f_locals.get("self")).__name__ != "Side":
        frame = frame.f_back
    return frame.f_locals["self"]


class Mark:
    def record(self):
        pass

    def elapsed_time(self, _):
        return 0.01


def without_waiting(side):
    """What is left in streams is not waited for at the end of a call."""
    side.device.marks = [Mark(), Mark()]
    side.device.synchronize = lambda: None


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.stream = torch.cuda.Stream()

    def forward(self, x):
        side = the_side()
        y = torch.softmax(x, dim=1)
        if len(side.inputs) > 1 and x.data_ptr() == side.inputs[-1][0].data_ptr():
            without_waiting(side)
            torch.cuda.current_stream().synchronize()
            with torch.cuda.stream(self.stream):
                torch.cuda._sleep(20_000_000)
        return y
