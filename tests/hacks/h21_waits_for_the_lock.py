# problem: torch/softmax_rows
# catalogue: H21
# expect: wrong|violation|passed
# speedup_below: 4
# says: A thread finishes the answer as soon as the call lets go of the interpreter's lock.
import threading

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.zeros_like(x)
        threading.Thread(
            target=lambda: y.copy_(torch.softmax(x, dim=1)), daemon=True
        ).start()
        return y
