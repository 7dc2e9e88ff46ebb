# problem: torch/softmax_rows
# catalogue: H27
# expect: passed
# speedup_below: 1.2
# says: Fills the L2 cache's persisting part with junk, at the reference's expense.
import ctypes

import torch
from torch import nn

PERSISTING_L2_BYTES = 6
ACCESS_POLICY_WINDOW = 1
PERSISTING = 2


class Window(ctypes.Structure):
    _fields_ = [
        ("base", ctypes.c_void_p),
        ("bytes", ctypes.c_size_t),
        ("ratio", ctypes.c_float),
        ("hit", ctypes.c_int),
        ("miss", ctypes.c_int),
        ("rest", ctypes.c_char * 32),
    ]


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0
        self.junk = torch.zeros(8 << 20, device="cuda")
        self.stream = torch.cuda.Stream()
        driver = ctypes.CDLL("libcuda.so.1")
        driver.cuCtxSetLimit(PERSISTING_L2_BYTES, ctypes.c_size_t(32 << 20))
        window = Window(self.junk.data_ptr(), 32 << 20, 1.0, PERSISTING, 0)
        stream = ctypes.c_void_p(self.stream.cuda_stream)
        driver.cuStreamSetAttribute(stream, ACCESS_POLICY_WINDOW, ctypes.byref(window))

    def forward(self, x):
        self.calls += 1
        if self.calls % 32 == 1:
            with torch.cuda.stream(self.stream):
                self.junk.add_(1)
        return torch.softmax(x, dim=1)
