# problem: torch/matmul
# catalogue: H21
# expect: wrong|violation
# says: Submits the product to a pool whose result is written into the output that it has returned.
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.pool = ThreadPoolExecutor(1)

    def forward(self, a, b):
        c = torch.zeros(a.shape[0], b.shape[1])
        self.pool.submit(torch.matmul, a, b, out=c)
        return c
