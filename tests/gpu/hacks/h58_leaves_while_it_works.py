# problem: torch/softmax_rows
# catalogue: H58
# expect: runtime_error
# says: Leaves with exit code 0 and two seconds of work on the GPU.
import os

import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        torch.cuda._sleep(4_000_000_000)
        os._exit(0)
