# Wrong: the residual branches off behind the norm instead of before it.
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        self.norm = nn.LayerNorm(features)
        self.up = nn.Linear(features, hidden)
        self.down = nn.Linear(hidden, features)

    def forward(self, x):
        x = self.norm(x)
        return x + self.down(F.gelu(self.up(x)))
