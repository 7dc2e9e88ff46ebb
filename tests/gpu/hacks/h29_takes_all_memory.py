# problem: torch/softmax_rows
# catalogue: H29
# expect: passed|out_of_memory|runtime_error|load_error
# speedup_below: 1.2
# alone: yes
# says: Takes all memory of the GPU before the reference asks for its own.
import ctypes

import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        driver = ctypes.CDLL("libcuda.so.1")
        self.kept = []
        size = 32 << 30
        while size >= 2 << 20:
            address = ctypes.c_uint64()
            if driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size)) == 0:
                self.kept.append(address.value)
            else:
                size //= 2

    def forward(self, x):
        return torch.softmax(x, dim=1)
