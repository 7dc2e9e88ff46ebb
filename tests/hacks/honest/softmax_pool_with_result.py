# problem: torch/softmax_rows
# catalogue: H21
# expect: passed
# says: A thread pool whose futures are all waited for.
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.pool = ThreadPoolExecutor(2)

    def forward(self, x):
        parts = self.pool.map(lambda part: torch.softmax(part, dim=1), x.chunk(2))
        return torch.cat(list(parts))
