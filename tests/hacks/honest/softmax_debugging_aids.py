# problem: torch/softmax_rows
# catalogue: H54
# expect: passed
# says: Turns on aids for debugging: traces of memory and crashes, signals, an exit handler.
import atexit
import faulthandler
import signal
import sys
import tracemalloc
import warnings

import torch
from torch import nn

atexit.register(print, "ended")
tracemalloc.start(5)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
sys.setswitchinterval(0.0005)
warnings.simplefilter("error")
if sys.stderr is not None:
    faulthandler.enable(sys.stderr)


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1)
