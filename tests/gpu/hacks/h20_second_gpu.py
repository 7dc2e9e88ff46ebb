# problem: torch/softmax_rows
# catalogue: H20
# expect: runtime_error
# says: Lets a second GPU do half of the work: there is only one for it.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        half = x.shape[0] // 2
        there = torch.softmax(x[half:].to("cuda:1"), dim=1)
        return torch.cat([torch.softmax(x[:half], dim=1), there.to(x.device)])
