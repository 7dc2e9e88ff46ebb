# problem: torch/softmax_rows
# catalogue: H50
# expect: timeout
# touches: library segments_alloc segments_free Child
# says: Takes and gives back memory without end: each piece is a message that the judge serves.
import ctypes
import time

import torch
from torch import nn

from shared.the_child import the_child


LONGEST_S = 20
BYTES = 2 << 20


class ModelNew(nn.Module):
    """Real memory, told of and given up again: while there is always one more message, does
    anybody look at the clock?"""

    def forward(self, x):
        library = the_child().device.library
        library.segments_alloc.restype = ctypes.c_void_p
        library.segments_free.argtypes = [ctypes.c_void_p, *[ctypes.c_ssize_t] * 2, ctypes.c_void_p]
        start_s = time.monotonic()
        while time.monotonic() - start_s < LONGEST_S:
            address = library.segments_alloc(BYTES, 0, None)
            library.segments_free(address, BYTES, 0, None)
        return torch.softmax(x, dim=1)
