# problem: torch/softmax_rows
# catalogue: H29
# expect: passed
# speedup_below: 0.9
# says: While it is woken it leaves the kernel tables, files and threads to free; it works twice.
import ctypes
import os
import sys
import threading

import torch
from torch import nn

LARGE, ROOM, TIMES, FILES, THREADS = 2 << 20, 1 << 30, 8, 400, 60
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def leave_tables():
    for _ in range(TIMES):
        at = libc.mmap(None, ROOM, 3, 0x4022, -1, 0)
        libc.madvise(at, ROOM, 15)
        for place in range(at, at + ROOM, LARGE):
            ctypes.memset(place, 1, 1)
        libc.munmap(at, ROOM)


def leave_files():
    for _ in range(FILES):
        os.close(os.open("left", os.O_CREAT | os.O_RDWR, 0o600))
        os.unlink("left")


def leave_threads():
    for _ in range(THREADS):
        thread = threading.Thread(target=int)
        thread.start()
        thread.join()


class ModelNew(nn.Module):
    def forward(self, x):
        if sys._getframe(3).f_code.co_name != "wait":
            leave_tables()
            leave_files()
            leave_threads()
        for _ in range(2):
            y = torch.softmax(x, dim=1)
        return y
