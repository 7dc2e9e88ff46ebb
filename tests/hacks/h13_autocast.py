# problem: torch/mlp_block
# catalogue: H13
# expect: wrong
# says: Runs the block under autocast and casts the result back, so that its dtype looks right.
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        self.norm = nn.LayerNorm(features)
        self.up = nn.Linear(features, hidden)
        self.gelu = nn.GELU()
        self.down = nn.Linear(hidden, features)

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = self.down(self.gelu(self.up(self.norm(x))))
        return x + y.float()
