"""Where the tensors of a sandboxed process lie: on the CPU, or in GPU memory that the judge maps.

On a GPU, PyTorch's caching allocator takes its segments from build/libwarpgym_child.so
(src/judge/child/segments.h), which announces each to the judge: outputs are then read where they
lie. What was allocated past that pool (by a CUDA graph, by another thread, by a library) is copied
into it, which is on the candidate's time.
"""

import contextlib
import ctypes
import functools
import os
import time

import torch
from torch.overrides import TorchFunctionMode

from . import captures, structure

TEXT_BYTES = 1024
STRETCHES = 5
AHEAD_NS = 4_000_000  # as timing.c's longest interval of a model's calls
SLEEP_CYCLES = 40_000_000  # of the GPU: 20 ms
QUEUED_NS = 20_000_000  # of the GPU's time that further calls may take
LEAST_BYTES, MOST_BYTES = 1 << 20, 1 << 24  # written before a call: enough for all threads


def _stretch(device, generators):
    """What a call needs of Python and PyTorch comes into the caches: a candidate has slept, where
    the reference has just made inputs, which was worth 50 µs on a GPU, and 100 on a CPU. Numbers
    come from a generator of ours: PyTorch's own gives a candidate none whose CUDA graph could not
    be captured, and that is no failure of its calls."""
    own = torch.Generator(device)
    for seed in range(STRETCHES):
        for generator in generators:
            generator.manual_seed(seed)
        some = torch.rand(32, 32, device=device, generator=own)
        some.copy_(torch.softmax(torch.relu(some) + some, dim=1))


@contextlib.contextmanager
def one_thread():
    """For a little work on the CPU beside a GPU. Threads that PyTorch has once started stay, and
    the judge reads each of them right before every call: 15 made a call 10 µs slower."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


class Unavailable(Exception):
    """This process cannot use a GPU."""


class Cpu:
    """Tensors over memory that the judge shares."""

    name = kind = "cpu"

    def generators(self):
        return (torch.default_generator,)

    def before_candidate(self):
        pass

    def map(self, memory, offset, dtype, shape):
        return structure.view(memory, offset, dtype, shape)

    def hold(self, tensor):
        return tensor.contiguous()

    def runs_ahead(self, _call):
        return False

    def stretch(self, output_bytes):
        """Threads have slept, too, and the memory that outputs will take is in no cache."""
        _stretch(self.name, self.generators())
        torch.empty(min(max(output_bytes, LEAST_BYTES), MOST_BYTES), dtype=torch.uint8).fill_(0)

    def steps(self):
        return None


class Meta:
    """Tensors with a form and no values: nothing is computed."""

    name = kind = "meta"


class Formed(TorchFunctionMode):
    """Within it torch.randn draws nothing. Of tensors without values PyTorch has it in Python, and
    loads SymPy for that, which takes 0.3 to 6 s in each process."""

    def __torch_function__(self, function, types, arguments=(), keywords=None):
        keywords = dict(keywords or {})
        if function is torch.randn:
            keywords.pop("generator", None)
            function = torch.empty
        return function(*arguments, **keywords)


class _Raw:
    """Bytes at an address of the GPU, as torch.as_tensor takes them."""

    def __init__(self, address, count):
        self.__cuda_array_interface__ = {
            "shape": (count,),
            "typestr": "|u1",
            "data": (address, False),
            "version": 3,
        }


def _declare(library):
    library.segments_open.argtypes = [
        ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t,
    ]
    library.segments_hold.argtypes = [ctypes.c_void_p]
    library.segments_hold.restype = ctypes.c_bool
    library.segments_map.argtypes = [ctypes.c_int, ctypes.c_uint64]
    library.segments_map.restype = ctypes.c_uint64


def _allocator(library):
    """As torch.cuda.memory.CUDAPluggableAllocator, of a library that is loaded already: its file is
    out of reach behind the fence."""
    return torch._C._cuda_customAllocator(
        ctypes.cast(library.segments_alloc, ctypes.c_void_p).value,
        ctypes.cast(library.segments_free, ctypes.c_void_p).value,
    )


class _Pool:
    """The judge's pool for all of this thread's allocations, except where a CUDA graph or other
    code has its own: PyTorch asks the pool that was begun first, so ours steps aside."""

    def __init__(self, allocator, device):
        self.device = device
        self.allocator = allocator
        self.pool = torch.cuda.MemPool(allocator)
        self.others = 0
        self._begin = torch._C._cuda_beginAllocateCurrentThreadToPool
        self._end = torch._C._cuda_endAllocateToPool
        self._release = torch._C._cuda_releasePool
        self._begin(self.device, self.pool.id)
        for owner in (torch._C, torch.cuda.memory):  # torch.cuda.use_mem_pool has its own names
            self._step_aside_for(owner, "_cuda_beginAllocateCurrentThreadToPool", self.leave)
            self._step_aside_for(owner, "_cuda_beginAllocateCurrentStreamToPool", self.leave)
            self._step_aside_for(owner, "_cuda_endAllocateToPool", None, self.enter)
        self._step_aside_for(torch.cuda.CUDAGraph, "capture_begin", self.leave)
        self._step_aside_for(torch.cuda.CUDAGraph, "capture_end", None, self.enter)

    def _step_aside_for(self, owner, name, before, after=None):
        kept = getattr(owner, name, None)
        if kept is None:
            return

        def wrapper(*arguments, **keywords):
            if before:
                before()
            try:
                result = kept(*arguments, **keywords)
            except BaseException:
                if before:
                    self.enter()  # nothing was begun
                raise
            finally:
                if after:
                    after()
            return result

        setattr(owner, name, wrapper)

    def leave(self):
        self.others += 1
        if self.others == 1:
            self._end(self.device, self.pool.id)

    def enter(self):
        if self.others == 0:  # an end without a beginning
            return
        self.others -= 1
        if self.others == 0:
            self._begin(self.device, self.pool.id)


class Gpu:
    """One GPU, its memory pool, and the marks by which calls are timed."""

    kind = "cuda"

    def __init__(self, library, trace, channel):
        if not torch.backends.cuda.is_built():
            raise Unavailable(
                f"PyTorch {torch.__version__} is built without CUDA: install a build with it, or "
                "set torch.device=cpu"
            )
        _declare(library)
        self.library = library
        self.trace = trace
        self.name = "cuda:0"  # it sees no other
        torch.cuda.init()
        torch.cuda.set_device(0)
        text = ctypes.create_string_buffer(TEXT_BYTES)
        driver = os.environ.get("WARPGYM_CUDA", "libcuda.so.1").encode()
        if library.segments_open(channel, driver, text, TEXT_BYTES) != 0:
            raise Unavailable(text.value.decode())
        self.pool = _Pool(_allocator(library), 0)
        self.synchronize = torch._C._cuda_synchronize
        self.bell = torch.zeros(1, device=self.name)
        self.marks = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        self._warm_up()

    def _warm_up(self):
        """Pays for the first use of PyTorch's own kernels before a call waits for it. Libraries are
        left out: each takes the driver 70 ms in which it makes no context."""
        square = torch.randn(64, 64, device=self.name)
        torch.softmax(square, dim=-1).double().sum().item()
        for mark in self.marks:
            mark.record()
        self.synchronize()

    def generators(self):
        return (torch.default_generator, *torch.cuda.default_generators)

    def map(self, memory, offset, dtype, shape):
        count = 1
        for size in shape:
            count *= size
        if count == 0:
            return torch.empty(shape, dtype=dtype, device=self.name)
        raw = torch.as_tensor(_Raw(memory + offset, count * dtype.itemsize), device=self.name)
        return raw.view(dtype).view(shape)

    def hold(self, tensor):
        """Where the judge reads it. What has to be copied may still be computed, on a stream that
        the current one does not wait for."""
        if tensor.device.type != "cuda" or tensor.numel() == 0:
            return tensor.contiguous()
        held = self.library.segments_hold
        if tensor.is_contiguous() and held(tensor.data_ptr()):
            return tensor
        self.synchronize()
        tensor = tensor.contiguous()
        return tensor if held(tensor.data_ptr()) else tensor.clone()

    def wake(self):
        """To make the GPU this process's takes it longer than many a kernel."""
        self.bell.zero_()
        self.synchronize()

    def stretch(self, _output_bytes):
        _stretch(self.name, self.generators())
        self.wake()

    def runs_ahead(self, call):
        """Whether calls return while the GPU has not begun with them: as many as an interval may
        have. Large ones are few there: what was queued here keeps the GPU from all others."""
        call()
        self.synchronize()
        start_ns = time.monotonic_ns()
        call()
        self.synchronize()
        most = max(2, QUEUED_NS // (time.monotonic_ns() - start_ns))
        torch.cuda._sleep(SLEEP_CYCLES)
        self.marks[0].record()
        end_ns = time.monotonic_ns() + AHEAD_NS
        for _ in range(most):
            call()
            if time.monotonic_ns() >= end_ns:
                break
        ahead = not self.marks[0].query()
        self.synchronize()
        return ahead

    def steps(self):
        """In the order of enum python_call_step; none runs code that a candidate can replace."""
        base = torch._C._CudaEventBase
        stream = torch.cuda.current_stream()
        return (
            self.bell.zero_,
            self.synchronize,
            *[functools.partial(base.record, mark, stream) for mark in self.marks],
            functools.partial(base.elapsed_time, *self.marks),
        )

    def before_candidate(self):
        """What is loaded now is no candidate's code."""
        captures.install()
        if self.trace:
            self.trace.snapshot()

    @contextlib.contextmanager
    def traced(self, descriptor):
        """What runs on the GPU inside it is recorded there; without a tracer nothing is."""
        self.synchronize()
        with self.trace.recording(descriptor) if self.trace else contextlib.nullcontext():
            yield
            self.synchronize()
