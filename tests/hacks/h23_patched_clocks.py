# problem: torch/softmax_rows
# catalogue: H23
# expect: passed
# speedup_below: 0.7
# says: Stops every clock that Python and torch know, and computes thirty times over.
import time

import torch
from torch import nn

for name in ("time", "perf_counter", "monotonic", "process_time", "thread_time"):
    setattr(time, name, lambda: 1.0)
    setattr(time, name + "_ns", lambda: 1)
torch.cuda.synchronize = lambda *_arguments: None


class Event:
    def __init__(self, **_keywords):
        pass

    def record(self, *_arguments):
        pass

    def elapsed_time(self, _other):
        return 1e-6


torch.cuda.Event = Event
torch.Event = Event


class ModelNew(nn.Module):
    def forward(self, x):
        for _ in range(30):
            y = torch.softmax(x, dim=1)
        return y
