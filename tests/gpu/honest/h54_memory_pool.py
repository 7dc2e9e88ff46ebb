# problem: torch/softmax_rows
# catalogue: H54
# expect: passed
# says: Scratch memory from a pool of its own, as torch.cuda.use_mem_pool is meant to be used.
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.pool = torch.cuda.MemPool()

    def forward(self, x):
        with torch.cuda.use_mem_pool(self.pool):
            shifted = x - x.amax(dim=1, keepdim=True)
        return torch.softmax(shifted, dim=1)
