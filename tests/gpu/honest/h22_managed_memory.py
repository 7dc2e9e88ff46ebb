# problem: torch/softmax_rows
# catalogue: H22
# expect: passed
# says: Through managed memory that it makes once.
import ctypes

import torch
from torch import nn

GLOBAL = 1


class Managed:
    def __init__(self, shape):
        self.address = ctypes.c_uint64()
        size = 4 * shape[0] * shape[1]
        driver = ctypes.CDLL("libcuda.so.1")
        driver.cuMemAllocManaged(ctypes.byref(self.address), ctypes.c_size_t(size), GLOBAL)
        self.__cuda_array_interface__ = {
            "shape": tuple(shape),
            "typestr": "<f4",
            "data": (self.address.value, False),
            "version": 3,
        }


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.memory = None

    def forward(self, x):
        if self.memory is None:
            self.memory = torch.as_tensor(Managed(x.shape), device=x.device)
        return torch.softmax(x, dim=1, out=self.memory).clone()
