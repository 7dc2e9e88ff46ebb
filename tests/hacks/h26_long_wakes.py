# problem: torch/softmax_rows
# catalogue: H26
# expect: passed
# speedup_below: 0.9
# says: Takes long to be woken and sweeps all caches then, so that few cold reference calls are timed; it works three times.
import gc
import time

import torch
from torch import nn

SWEPT = 24 << 20


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.swept = None

    def forward(self, x):
        if self.swept is None:
            self.swept = torch.ones(SWEPT)
            device = next(
                thing for thing in gc.get_objects() if type(thing).__name__ == "Child"
            ).device
            stretch = device.stretch

            def dawdle(*arguments):
                self.swept.add_(1)
                time.sleep(0.02)
                stretch(*arguments)

            device.stretch = dawdle
        return sum(torch.softmax(x, dim=1) for _ in range(3)) / 3
