# Wrong: the window is three wide but only two high.
import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(channels))

    def forward(self, x):
        pooled = F.max_pool2d(x[:, :, :-1], (2, 3), stride=2)
        return torch.einsum("bchw,c->bhw", pooled, self.weight)
