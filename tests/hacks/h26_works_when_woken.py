# problem: torch/softmax_rows
# catalogue: H26
# expect: wrong
# says: Computes while it is woken for a call, off the clock: the inputs of that call are not there yet.
import gc

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.ahead = None

    def forward(self, x):
        if self.ahead is None:
            self.ahead = torch.softmax(x, dim=1)
            child = next(
                thing for thing in gc.get_objects() if type(thing).__name__ == "Child"
            )
            stretch = child.device.stretch

            def work(output_bytes):
                stretch(output_bytes)
                self.ahead = torch.softmax(x, dim=1)

            child.device.stretch = work
        return self.ahead
