# problem: torch/embedding_mean
# catalogue: H31
# expect: passed
# says: The library's bag operator on the shared table.
import torch
import torch.nn.functional as F
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, tokens, features):
        super().__init__()
        self.table = nn.Parameter(torch.randn(tokens, features))

    def forward(self, indices):
        return F.embedding_bag(indices, self.table, mode="mean")
