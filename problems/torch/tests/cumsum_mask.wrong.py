# Wrong: an exclusive running sum, each element misses its own term.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x, mask):
        kept = torch.where(mask, x, 0)
        return torch.cumsum(kept, dim=1) - kept
