# One reduction yields both the largest elements and their positions.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        values, indices = torch.max(x, dim=1)
        return values, indices
