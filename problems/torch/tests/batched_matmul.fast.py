# Calls the batched product directly, without einsum's planning and reshaping.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        return torch.bmm(a, b)
