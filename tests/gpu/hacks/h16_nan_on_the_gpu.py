# problem: torch/softmax_rows
# catalogue: H16
# expect: wrong
# says: NaN everywhere.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.full_like(x, float("nan"))
