# problem: torch/softmax_rows
# catalogue: H25
# expect: passed|wrong|violation|runtime_error|load_error
# speedup_below: 0.2
# says: Writes `return 0` over the driver's functions that wait.
import ctypes

import torch
from torch import nn

PAGE = 4096
RETURN_ZERO = b"\x31\xc0\xc3"


def silence(library, name):
    function = getattr(library, name, None)
    if function is None:
        return
    address = ctypes.cast(function, ctypes.c_void_p).value
    start = address // PAGE * PAGE
    libc = ctypes.CDLL(None)
    if libc.mprotect(ctypes.c_void_p(start), ctypes.c_size_t(2 * PAGE), 7) == 0:
        ctypes.memmove(address, RETURN_ZERO, len(RETURN_ZERO))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        driver = ctypes.CDLL("libcuda.so.1")
        for name in ("cuCtxSynchronize", "cuStreamSynchronize", "cuEventSynchronize"):
            silence(driver, name)
            silence(driver, name + "_v2")

    def forward(self, x):
        torch.cuda._sleep(2_000_000)
        return torch.softmax(x, dim=1)
