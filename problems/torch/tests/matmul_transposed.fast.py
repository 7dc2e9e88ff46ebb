# Multiplies in the order in which both matrices are stored and returns a transposed view.
import torch
from torch import nn


class ModelNew(nn.Module):
    def forward(self, a, b):
        return torch.mm(b, a).t()
