"""warpgym.standby, whose GPU only looks like one (tests/fake/cuda.c).

The stand-in driver's memory is the host's, so PyTorch computes in it as on the CPU. Only the class
Gpu is another one: it puts tensors where Gpu would have them. All else of a child is the real thing,
and so is everything that the judge does with it.
"""

import contextlib
import ctypes
import functools
import os
import struct
import time
import weakref

import torch
from warpgym import gpu, standby

FREE_BYTES = 1 << 30
TRACE_MAGIC = 0x31637274


class Mark:
    """torch.cuda.Event: a time of the host's clock."""

    def record(self):
        self.ns = time.monotonic_ns()

    def elapsed_time(self, later):
        return (later.ns - self.ns) * 1e-6


def tensor_at(address, dtype, shape):
    count = 1
    for size in shape:
        count *= size
    if count == 0:
        return torch.empty(shape, dtype=dtype)
    place = (ctypes.c_char * (count * dtype.itemsize)).from_address(address)
    return torch.frombuffer(place, dtype=dtype).view(shape)


class Gpu:
    kind = name = "cpu"

    def __init__(self, library, _trace, channel):
        gpu._declare(library)
        library.segments_alloc.argtypes = [ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p]
        library.segments_alloc.restype = ctypes.c_void_p
        self.library = library
        self.unused = {}  # addresses by bytes
        self.marks = [Mark(), Mark()]
        text = ctypes.create_string_buffer(gpu.TEXT_BYTES)
        driver = os.environ["WARPGYM_CUDA"].encode()
        if library.segments_open(channel, driver, text, gpu.TEXT_BYTES) != 0:
            raise gpu.Unavailable(text.value.decode())

    def synchronize(self):
        pass

    def wake(self):
        pass

    def stretch(self, _output_bytes):
        pass

    def generators(self):
        return (torch.default_generator,)

    def runs_ahead(self, _call):
        """A problem says so of its model."""
        return getattr(torch, "runs_ahead", False)

    def steps(self):
        first, last = self.marks
        elapsed = functools.partial(first.elapsed_time, last)
        return self.wake, self.synchronize, first.record, last.record, elapsed

    def map(self, memory, offset, dtype, shape):
        return tensor_at(memory + offset, dtype, shape)

    def hold(self, tensor):
        """Where PyTorch's pool would have put it; a candidate may say where it is (`lies_at`)."""
        if hasattr(tensor, "lies_at"):
            return tensor
        size = tensor.numel() * tensor.element_size()
        if size == 0:
            return tensor
        unused = self.unused.setdefault(size, [])
        address = unused.pop() if unused else self.library.segments_alloc(size, 0, None)
        if not address:
            raise MemoryError("there is no memory left on the GPU")
        held = tensor_at(address, tensor.dtype, tensor.shape)
        held.copy_(tensor)
        weakref.finalize(held, unused.append, address)
        return held

    def before_candidate(self):
        pass

    @contextlib.contextmanager
    def traced(self, descriptor):
        """A launch trace (trace_stream.h) of the bell and what a candidate says that it launched:
        it appends to `torch.launched` how many microseconds each took."""
        torch.launched = []
        yield
        lengths = [1, *map(int, torch.launched)]
        head = struct.pack("<6I4Q", TRACE_MAGIC, 0, 1, len(lengths), 1, 0, len(lengths), 0, 0, 0)
        records = b""
        for number, length in enumerate(lengths, 1):
            times = (1000 * sum(lengths[: number - 1]), 1000 * sum(lengths[:number]))
            records += struct.pack("<3Q20I", *times, 0, *[0] * 6, number, *[0] * 13)
        os.truncate(descriptor, 0)
        os.pwrite(descriptor, head + bytes(16) + records + bytes(1), 0)


if __name__ == "__main__":
    ctypes.CDLL(os.environ["WARPGYM_CUDA"])  # its file is out of reach behind the fence
    gpu.Gpu = Gpu
    torch.launched = []
    torch.cuda.mem_get_info = lambda *_: (FREE_BYTES, FREE_BYTES)
    standby.main()
