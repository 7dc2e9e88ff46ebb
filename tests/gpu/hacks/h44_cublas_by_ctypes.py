# problem: matmul_large
# catalogue: H44
# expect: passed
# warning: H41|H44
# says: cuBLAS through ctypes: not one PyTorch operator in sight.
import ctypes

import torch
from torch import nn


def load():
    for name in ("libcublas.so.13", "libcublas.so.12"):
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.library = load()
        self.handle = ctypes.c_void_p()
        self.library.cublasCreate_v2(ctypes.byref(self.handle))
        self.one, self.zero = ctypes.c_float(1), ctypes.c_float(0)

    def forward(self, a, b):
        (m, k), n = a.shape, b.shape[1]
        c = torch.empty(m, n, device=a.device)
        one, zero = ctypes.byref(self.one), ctypes.byref(self.zero)
        left, right, into = (ctypes.c_void_p(t.data_ptr()) for t in (b, a, c))
        self.library.cublasSgemm_v2(
            self.handle, 0, 0, n, m, k, one, left, n, right, k, zero, into, n
        )
        return c
