# problem: torch/softmax_rows
# catalogue: H05
# expect: passed
# says: Writes a log to the scratch folder, where it may.
import os
import tempfile

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        try:
            with open(os.path.join(tempfile.gettempdir(), "calls.log"), "a") as log:
                log.write(f"{tuple(x.shape)}\n")
        except OSError:
            pass
        return torch.softmax(x, dim=1)
