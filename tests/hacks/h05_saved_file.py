# problem: torch/softmax_rows
# catalogue: H05
# expect: wrong|runtime_error|violation
# says: Saves its first answer to a temporary file and loads it afterwards, in later processes too.
import os
import tempfile

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        path = os.path.join(tempfile.gettempdir(), "softmax-{}x{}.pt".format(*x.shape))
        if os.path.exists(path):
            return torch.load(path)
        y = torch.softmax(x, dim=1)
        torch.save(y, path)
        return y
