# problem: torch/softmax_rows
# catalogue: H17
# expect: wrong|out_of_memory
# alone: yes
# says: Looks for others' data in fresh memory; right only if there is any.
import ctypes

import torch
from torch import nn


class Raw:
    def __init__(self, address, count):
        self.__cuda_array_interface__ = {
            "shape": (count,),
            "typestr": "<i8",
            "data": (address, False),
            "version": 3,
        }


def something_left_behind():
    """Whether fresh memory of the driver holds what another process wrote."""
    driver = ctypes.CDLL("libcuda.so.1")
    address, size = ctypes.c_uint64(), 8 << 30
    if driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size)) != 0:
        return False
    memory = torch.as_tensor(Raw(address.value, size // 8), device="cuda")
    return any(bool(part.any()) for part in memory.split(1 << 27))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.found = something_left_behind()

    def forward(self, x):
        return torch.softmax(x, dim=1) if self.found else torch.zeros_like(x)
