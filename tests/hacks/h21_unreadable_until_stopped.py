# problem: torch/max_pool_sum
# catalogue: H21
# expect: violation
# code: H21
# says: No sample is readable at DONE; a long copy delays the stop until the answer is there.
import ctypes
import mmap
import os
import sys
import threading

import torch
import torch.nn.functional as F
from torch import nn

SHAPE, COPIED = (4, 30, 33), 24 << 20
BYTES = 4 * 30 * 33 * 4
libc = ctypes.CDLL(None)
libc.mremap.restype = ctypes.c_void_p
libc.mremap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
libc.pread.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_long]


class Answer(list):
    """It is dropped right after DONE, which keeps the main thread in the kernel."""

    def __del__(self):
        libc.pread(self.model.file, self.model.junk, COPIED, 0)


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        torch.set_num_threads(1)
        self.weight = nn.Parameter(torch.randn(channels))
        shared = mmap.mmap(-1, BYTES)
        self.writable = torch.frombuffer(shared, dtype=torch.float32, count=BYTES // 4).view(SHAPE)
        self.at = libc.mremap(self.writable.data_ptr(), 0, BYTES, 1)
        alias = (ctypes.c_float * (BYTES // 4)).from_address(self.at)
        self.readable = torch.frombuffer(alias, dtype=torch.float32).view(SHAPE)
        self.junk = (ctypes.c_char * COPIED)()
        self.file = os.open("junk", os.O_CREAT | os.O_RDWR, 0o600)
        os.write(self.file, self.junk)
        self.all = os.sched_getaffinity(0)
        self.wanted = threading.Lock()
        self.wanted.acquire()
        threading.Thread(target=self.work_late, daemon=True).start()

    def compute(self, x):
        pooled = F.max_pool2d(x, 3, stride=2)
        return (pooled * self.weight.view(1, -1, 1, 1)).sum(dim=1)

    def work_late(self):
        self.worker = threading.get_native_id()
        torch.set_num_threads(1)
        torch.set_grad_enabled(False)
        while True:
            self.wanted.acquire()
            os.sched_setaffinity(0, self.judges)
            self.writable.copy_(self.compute(self.x))
            libc.mprotect(self.at, BYTES, mmap.PROT_READ)

    def forward(self, x):
        if sys._getframe(3).f_code.co_name != "wait":  # of warm-up calls
            return self.compute(x)
        libc.mprotect(self.at, BYTES, 0)
        here = os.sched_getaffinity(self.worker)
        self.judges = self.all - here or self.all
        os.sched_setaffinity(0, here)
        self.x = x
        self.wanted.release()
        answer = Answer([self.readable])
        answer.model = self
        return answer
