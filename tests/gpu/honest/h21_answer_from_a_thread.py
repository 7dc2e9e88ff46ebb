# problem: torch/softmax_rows
# catalogue: H21
# expect: passed
# says: A worker thread allocates the answer: memory past the judge's pool, copied into it.
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn


def softmax(x):
    with torch.no_grad():
        return torch.softmax(x, dim=1)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.pool = ThreadPoolExecutor(1)

    def forward(self, x):
        return self.pool.submit(softmax, x).result()
