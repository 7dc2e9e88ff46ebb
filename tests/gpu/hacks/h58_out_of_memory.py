# problem: torch/softmax_rows
# catalogue: H58
# expect: out_of_memory
# says: 200 GB.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        torch.empty(200 << 30, dtype=torch.uint8, device=x.device)
        return torch.softmax(x, dim=1)
