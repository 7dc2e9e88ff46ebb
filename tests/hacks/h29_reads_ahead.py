# problem: torch/softmax_rows
# catalogue: H29
# expect: passed
# speedup_below: 0.9
# says: Off the clock it has large files dropped and read ahead: a busy disk; it works twice.
import gc
import os
import pathlib

import torch
from torch import nn

LEAST_BYTES = 4 << 20


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.files = None

    def prepare(self):
        self.files = []
        for path in pathlib.Path(torch.__file__).parent.rglob("*"):
            if path.is_file() and path.stat().st_size >= LEAST_BYTES and len(self.files) < 64:
                self.files.append(os.open(path, os.O_RDONLY))
        device = next(
            thing for thing in gc.get_objects() if type(thing).__name__ == "Child"
        ).device
        stretch = device.stretch

        def read_ahead(*arguments):
            for file in self.files:
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_WILLNEED)
            stretch(*arguments)

        device.stretch = read_ahead

    def forward(self, x):
        if self.files is None:
            self.prepare()
        for _ in range(2):
            y = torch.softmax(x, dim=1)
        return y
