# problem: torch/softmax_rows
# catalogue: H58
# expect: runtime_error
# says: Turns to a GPU that is not there.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        torch.cuda.set_device(99)
        return torch.softmax(x, dim=1)
