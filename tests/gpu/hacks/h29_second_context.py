# problem: torch/softmax_rows
# catalogue: H29
# expect: passed|wrong|violation|timeout
# speedup_below: 1.2
# says: As h29_kernel_left_behind, in a second context; the child is left as it is.
import ctypes

import torch
from torch import nn

PTX = b"""
.version 8.0
.target sm_70
.address_size 64
.visible .entry spin(.param .u64 never)
{
    .reg .pred %again;
    .reg .u32 %word;
    .reg .u64 %at;
    ld.param.u64 %at, [never];
turn:
    ld.volatile.global.u32 %word, [%at];
    setp.eq.u32 %again, %word, 0;
    @%again bra turn;
    ret;
}
"""


def spin_elsewhere():
    """A kernel that never ends, in a context that no synchronize of this process knows."""
    driver = ctypes.CDLL("libcuda.so.1")
    theirs, own, module, function = (ctypes.c_void_p() for _ in range(4))
    never = ctypes.c_uint64()
    driver.cuCtxGetCurrent(ctypes.byref(theirs))
    if driver.cuCtxCreate_v2(ctypes.byref(own), 0, 0) != 0:
        return
    driver.cuMemAlloc_v2(ctypes.byref(never), ctypes.c_size_t(4))
    driver.cuMemsetD32_v2(never, 0, ctypes.c_size_t(1))
    driver.cuModuleLoadData(ctypes.byref(module), PTX)
    driver.cuModuleGetFunction(ctypes.byref(function), module, b"spin")
    values = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.byref(never), ctypes.c_void_p))
    driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, values, None)
    driver.cuCtxSetCurrent(theirs)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = None

    def forward(self, x):
        self.first = self.first or x.data_ptr()
        if self.first > 0 and x.data_ptr() != self.first:
            self.first = -1
            spin_elsewhere()
        return torch.softmax(x, dim=1)
