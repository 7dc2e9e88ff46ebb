"""Mean of the embeddings of each bag of tokens.

Category: indexing
"""

import torch
from torch import nn

TOKENS = 1000
FEATURES = 64
BAGS = 1024
BAG_LENGTH = 24


class Model(nn.Module):
    def __init__(self, tokens, features):
        super().__init__()
        self.table = nn.Parameter(torch.randn(tokens, features))

    def forward(self, indices):
        return self.table[indices].mean(dim=1)


def get_inputs():
    return [torch.randint(0, TOKENS, (BAGS, BAG_LENGTH))]


def get_init_inputs():
    return [TOKENS, FEATURES]
