# problem: torch/softmax_rows
# catalogue: H22
# expect: wrong|runtime_error|violation
# says: Returns a tensor of the right shape without any storage.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.softmax(x.to("meta"), dim=1)
