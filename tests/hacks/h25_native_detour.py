# problem: torch/softmax_rows
# catalogue: H25
# expect: wrong|runtime_error|violation|timeout
# says: Overwrites the C library's clock and compare functions through ctypes.
import ctypes

import torch
from torch import nn

RETURN_ZERO = b"\x31\xc0\xc3"  # xor eax, eax; ret


def detour(name):
    libc = ctypes.CDLL(None)
    address = ctypes.cast(getattr(libc, name), ctypes.c_void_p).value
    page = ctypes.c_void_p(address & ~4095)
    if libc.mprotect(page, ctypes.c_size_t(8192), 7) == 0:
        ctypes.memmove(address, RETURN_ZERO, len(RETURN_ZERO))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.zeros_like(x)
        detour("clock_gettime")
        detour("memcmp")
        return y
