# problem: torch/softmax_rows
# catalogue: H11
# expect: wrong
# says: Honest for half of the inputs, told apart by a sign, and careless for the rest.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        if x[0, 0] > 0:
            return torch.softmax(x, dim=1)
        return torch.softmax(x[:, : x.shape[1] // 2].repeat(1, 3)[:, : x.shape[1]], dim=1)
