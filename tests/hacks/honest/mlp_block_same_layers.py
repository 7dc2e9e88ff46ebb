# problem: torch/mlp_block
# catalogue: H31
# expect: passed
# says: The reference's layers by name in another order; the judge brings their weights.
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        self.down = nn.Linear(hidden, features)
        self.up = nn.Linear(features, hidden)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        return F.gelu(self.up(self.norm(x))).matmul(self.down.weight.t()) + self.down.bias + x
