# Folds the norm's scale and shift into the first layer, once; the second adds the residual itself.
import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        self.norm = nn.LayerNorm(features)
        self.up = nn.Linear(features, hidden)
        self.down = nn.Linear(hidden, features)
        self.folded = None

    @torch.no_grad()
    def fold(self):
        weight = self.up.weight * self.norm.weight
        bias = torch.addmv(self.up.bias, self.up.weight, self.norm.bias)
        return weight.t().contiguous(), bias, self.down.weight.t().contiguous()

    def forward(self, x):
        if self.folded is None:
            self.folded = self.fold()
        up, bias, down = self.folded
        normal = F.layer_norm(x, x.shape[-1:], eps=self.norm.eps)
        return torch.addmm(x + self.down.bias, F.gelu(torch.addmm(bias, normal, up)), down)
