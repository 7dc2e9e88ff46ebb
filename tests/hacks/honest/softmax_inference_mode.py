# problem: torch/softmax_rows
# catalogue: H22
# expect: passed
# says: Collects no garbage meanwhile; its answer is of inference mode, of no use to autograd.
import gc

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        gc.disable()
        with torch.inference_mode():
            y = torch.softmax(x, dim=1)
        gc.enable()
        return y
