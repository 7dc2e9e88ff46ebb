# problem: torch/softmax_rows
# catalogue: H21
# expect: wrong|violation|runtime_error|passed
# speedup_below: 4
# says: Leaves the work to a signal's handler in Python, which runs when the interpreter next looks.
import _thread
import signal

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.zeros_like(x)
        signal.signal(signal.SIGUSR1, lambda *_: y.copy_(torch.softmax(x, dim=1)))
        return (y, _thread.interrupt_main(signal.SIGUSR1))[0]
