# problem: torch/softmax_rows
# catalogue: H50
# expect: passed
# says: Prints and warns on its first call.
import sys
import warnings

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.told = False

    def forward(self, x):
        if not self.told:
            self.told = True
            print('{"status": "hello"}', flush=True)
            print("first call", file=sys.stderr)
            warnings.warn("nothing to worry about", stacklevel=1)
        return torch.softmax(x, dim=1)
