# problem: torch/softmax_rows
# catalogue: H13
# expect: wrong
# says: Half the bytes: softmax in bfloat16.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x.bfloat16(), dim=1).float()
