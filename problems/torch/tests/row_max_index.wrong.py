# Wrong: the values are right, the positions count from the second element.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, x):
        rest, indices = torch.max(x[:, 1:], dim=1)
        return torch.maximum(rest, x[:, 0]), indices
