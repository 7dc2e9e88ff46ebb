#!/usr/bin/env python3
"""What build/libwarpgym_trace.so says of real launches, where there are a GPU, PyTorch and Triton.

    tests/gpu/trace_check.py          all of it; status 0 when every line says ok

Each case runs in a process of its own, as a child does: PyTorch first, then the library, then the
driver, the snapshot, the candidate's code. Prints for each kernel where the library thinks that its
code came from, and how it knows.
"""

import argparse
import ctypes
import glob
import os
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "build" / "libwarpgym_trace.so"
CALLS = 20
TIMEOUT_S = 240

HEADER = struct.Struct("<6I4Q")
SOURCE = struct.Struct("<4I")
RECORD = struct.Struct("<3Q20I")
KINDS = ("kernel", "copy", "set")
ORIGINS = ("unknown", "library", "generated", "own")
EVIDENCES = ("nothing", "image", "loader", "stack")
MATCHES = ("none", "launch", "name")

TRITON = """
import triton
import triton.language as tl

@triton.jit
def doubled(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)

def run(x, y):
    n = x.numel()
    doubled[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024)
"""

CUDA = """
template <typename T> __global__ void tripled(const T *x, T *y, size_t n)
{
    size_t at = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (at < n)
        y[at] = 3 * x[at];
}
extern "C" int run(const float *x, float *y, size_t n, void *stream)
{
    tripled<float><<<(n + 255) / 256, 256, 0, (cudaStream_t)stream>>>(x, y, n);
    return (int)cudaGetLastError();
}
"""


def find_cupti():
    places = [os.path.join(path, "nvidia") for path in sys.path] + glob.glob("/usr/local/cuda*")
    for place in places:
        for found in sorted(glob.glob(place + "/**/libcupti.so.1[23]", recursive=True)):
            return found
    return ""


class Trace:
    """The library, as standby.py uses it."""

    def __init__(self):
        started = time.perf_counter()
        os.environ["CUDA_INJECTION64_PATH"] = str(LIBRARY)
        self.library = ctypes.CDLL(str(LIBRARY))
        self.library.warpgym_trace_begin.argtypes = [ctypes.c_char_p]
        self.check("prepare", self.library.warpgym_trace_prepare(find_cupti().encode()))
        self.prepare_ms = (time.perf_counter() - started) * 1e3

    def check(self, what, result):
        if result != 0:
            refusal = self.library.warpgym_trace_refusal()
            raise SystemExit(f"{what}: {result}, CUPTI says {refusal}")

    def snapshot(self):
        self.library.warpgym_trace_library_snapshot()

    def record(self, work):
        """What the work launched: header, records as dictionaries."""
        import torch

        torch.cuda.synchronize()
        descriptor = os.memfd_create("trace")
        times = [time.perf_counter()]
        self.check("begin", self.library.warpgym_trace_begin(None))
        times.append(time.perf_counter())
        work()
        torch.cuda.synchronize()
        times.append(time.perf_counter())
        self.check("end", self.library.warpgym_trace_end(descriptor))
        times.append(time.perf_counter())
        data = os.pread(descriptor, os.fstat(descriptor).st_size, 0)
        os.close(descriptor)
        found = parse(data)
        found["bytes"] = len(data)
        found["ms"] = [
            (after - before) * 1e3 for before, after in zip(times[:-1], times[1:], strict=True)
        ]
        return found


def parse(data):
    magic, version, sources, records, text_bytes, failed, launches, lost, begin, end = (
        HEADER.unpack_from(data)
    )
    assert magic == 0x31637274
    at = HEADER.size + sources * SOURCE.size + records * RECORD.size
    text = data[at : at + text_bytes]

    def name(offset):
        return text[offset : text.index(b"\0", offset)].decode("utf-8", "replace")

    known = []
    for index in range(sources):
        origin, evidence, path, _ = SOURCE.unpack_from(data, HEADER.size + index * SOURCE.size)
        known.append((ORIGINS[origin], EVIDENCES[evidence], name(path)))
    rows = []
    for index in range(records):
        place = HEADER.size + sources * SOURCE.size + index * RECORD.size
        start, stop, size, kind, title, source, match, _, stream, correlation, graph, *rest = (
            RECORD.unpack_from(data, place)
        )
        direction, registers, static, dynamic, local, *shape = rest
        rows.append(
            {
                "start": start,
                "us": (stop - start) / 1e3,
                "bytes": size,
                "kind": KINDS[kind],
                "name": name(title) or f"{KINDS[kind]} {direction}",
                "source": known[source],
                "match": MATCHES[match],
                "stream": stream,
                "correlation": correlation,
                "graph": graph,
                "registers": registers,
                "shared": static + dynamic,
                "local": local,
                "shape": shape[:6],
            }
        )
    return {
        "version": version,
        "launches": launches,
        "lost": lost,
        "failed": failed,
        "span_us": (end - begin) / 1e3,
        "inside": all(begin <= row["start"] <= end for row in rows),
        "rows": rows,
    }


def show(found):
    groups = defaultdict(list)
    for row in found["rows"]:
        groups[row["name"], row["source"], row["match"], row["stream"]].append(row)
    for (name, source, match, stream), rows in groups.items():
        one = rows[0]
        print(
            f"    {source[0]:9s} by {source[1]:7s} match {match:6s} {len(rows):4d} x "
            f"{statistics.mean(row['us'] for row in rows):9.2f} us  stream {stream}"
            f"{' graph' if one['graph'] else ''} regs {one['registers']} shared {one['shared']} "
            f"local {one['local']} grid/block {one['shape']}\n        {name[:100]}\n"
            f"        {source[2] or '-'}"
        )
    print(
        f"    CUPTI {found['version']}, {found['launches']} launches, {len(found['rows'])} records,"
        f" {found['lost']} lost, {found['failed']} failed, {found['bytes']} bytes, records inside "
        f"the pass: {found['inside']}; begin, pass, end "
        f"{found['ms'][0]:.1f}, {found['ms'][1]:.1f}, {found['ms'][2]:.1f} ms"
    )


def event_us(work):
    """Median of single calls between events, nothing being traced."""
    import torch

    times = []
    for _ in range(CALLS):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        torch.cuda._sleep(200_000)  # the launches are queued when the first event passes
        start.record()
        work()
        stop.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(stop) * 1e3)
    return statistics.median(times)


def load_triton():
    Path("candidate.py").write_text(TRITON)
    sys.path.insert(0, os.getcwd())
    import candidate

    return candidate.run


def load_cuda():
    import torch

    Path("solution.cu").write_text(CUDA)
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    subprocess.run(
        [nvcc, "-O3", "-arch=native", "-shared", "-Xcompiler", "-fPIC", "-o", "s.so"]
        + ["solution.cu"],
        check=True,
    )
    code = ctypes.CDLL("./s.so")
    os.unlink("s.so")

    def run(x, y):
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        pointers = [ctypes.c_void_p(tensor.data_ptr()) for tensor in (x, y)]
        assert code.run(*pointers, ctypes.c_size_t(x.numel()), stream) == 0

    return run


def cases():
    """name -> (what its kernels must be, a function that makes the work)"""
    import torch

    def tensors(rows=4096, columns=16384):
        x = torch.randn(rows, columns, device="cuda")
        return x, torch.empty_like(x)

    def softmax():
        x, _ = tensors()
        return lambda: torch.softmax(x, dim=1)

    def triton_kernel():
        x, y = tensors()
        run = load_triton()
        return lambda: run(x, y)

    def cuda_object():
        x, y = tensors()
        run = load_cuda()
        return lambda: run(x, y)

    def matmul():
        x = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
        return lambda: x @ x

    def convolution():
        x = torch.randn(32, 64, 56, 56, device="cuda", dtype=torch.bfloat16)
        layer = torch.nn.Conv2d(64, 64, 3, padding=1, device="cuda", dtype=torch.bfloat16)
        return lambda: layer(x)

    def graph():
        x, y = tensors()
        own, other = load_triton(), load_cuda()
        for _ in range(3):
            own(x, y), other(x, y), torch.softmax(x, 1)
        torch.cuda.synchronize()
        captured = torch.cuda.CUDAGraph()
        with torch.cuda.graph(captured):
            own(x, y)
            other(x, y)
            torch.softmax(x, 1)
        return captured.replay

    def compiled():
        x, _ = tensors()
        return compile_it(x)

    def compiled_triton():
        import torch._inductor.config

        torch._inductor.config.use_static_cuda_launcher = False
        x, _ = tensors()
        return compile_it(x)

    def compile_it(x):
        work = torch.compile(lambda x: torch.sigmoid(x) * x + 1)
        return lambda: work(x)

    def compiled_graph():
        x, _ = tensors()
        work = torch.compile(lambda x: torch.sigmoid(x) * x + 1, mode="reduce-overhead")
        return lambda: work(x)

    def nvrtc():
        x, y = tensors()
        kernel = torch.cuda._compile_kernel(
            "__global__ void quad(const float *x, float *y, int n) {"
            "int at = blockIdx.x * blockDim.x + threadIdx.x;"
            "if (at < n) y[at] = 4 * x[at]; }",
            "quad",
        )
        n = x.numel()
        return lambda: kernel((n // 256, 1, 1), (256, 1, 1), (x, y, n))

    def jiterated():
        x, _ = tensors()
        return lambda: torch.special.bessel_j0(x)

    def other_stream():
        x, y = tensors()
        run = load_triton()
        stream = torch.cuda.Stream()

        def work():
            with torch.cuda.stream(stream):
                run(x, y)
            torch.cuda.current_stream().wait_stream(stream)

        return work

    def copies():
        x, y = tensors()
        return lambda: (y.copy_(x), y.zero_())

    return {
        "softmax": ({"library"}, softmax),
        "triton": ({"own"}, triton_kernel),
        "cuda": ({"own"}, cuda_object),
        "matmul": ({"library"}, matmul),
        "convolution": ({"library"}, convolution),
        "graph": ({"library", "own"}, graph),
        "compile": ({"generated"}, compiled),
        "compile-triton": ({"generated"}, compiled_triton),
        "compile-graph": ({"generated"}, compiled_graph),
        "nvrtc": ({"own"}, nvrtc),
        "jiterator": ({"library"}, jiterated),
        "stream": ({"own"}, other_stream),
        "copies": (None, copies),
    }


def run_case(name):
    import torch

    trace = Trace()
    started = time.perf_counter()
    torch.empty(1, device="cuda")
    driver_ms = (time.perf_counter() - started) * 1e3
    started = time.perf_counter()
    trace.snapshot()
    snapshot_ms = (time.perf_counter() - started) * 1e3
    expected, make = cases()[name]
    with torch.no_grad():
        work = make()
        for _ in range(3):
            work()
        outside_us = event_us(work)
        trace.record(work)  # the first pass sets CUPTI up

        def pass_of_calls():
            for _ in range(CALLS):
                work()

        found = trace.record(pass_of_calls)
        again_us = event_us(work)
    inside_us = sum(row["us"] for row in found["rows"]) / CALLS
    origins = {row["source"][0] for row in found["rows"] if row["kind"] == "kernel"}
    fine = (expected is None or origins == expected) and found["lost"] == 0 and found["rows"]
    close = abs(inside_us - outside_us) < max(0.08 * outside_us, 6)
    print(
        f"{name}: origin {'ok' if fine else 'WRONG'} ({', '.join(sorted(origins))}), "
        f"time {'ok' if close else 'DIFFERS'} (trace {inside_us:.2f} us, events {outside_us:.2f}, "
        f"after it {again_us:.2f}); prepare {trace.prepare_ms:.1f} ms, driver and context "
        f"{driver_ms:.0f} ms, snapshot {snapshot_ms:.2f} ms"
    )
    show(found)
    return 0 if fine and close else 1


def launch_us(work, count=2000):
    """Host's time for one launch, the best of several windows."""
    import torch

    best = []
    for _ in range(9):
        torch.cuda.synchronize()
        started = time.perf_counter()
        for _ in range(count):
            work()
        torch.cuda.synchronize()
        best.append((time.perf_counter() - started) / count * 1e6)
    return min(best)


def run_cost(mode):
    import torch

    trace = Trace() if mode != "without" else None
    started = time.perf_counter()
    torch.empty(1, device="cuda")
    driver_ms = (time.perf_counter() - started) * 1e3
    if trace:
        trace.snapshot()
    x = torch.zeros(64, device="cuda")
    y = torch.zeros(64, device="cuda")
    triton_run = load_triton()
    cuda_run = load_cuda()
    with torch.no_grad():
        works = {
            "torch": lambda: x.add_(1),
            "triton": lambda: triton_run(x, y),
            "cuda": lambda: cuda_run(x, y),
        }
        for work in works.values():
            work()
        if mode == "after":
            trace.record(works["torch"])
        if mode == "during":
            trace.check("begin", trace.library.warpgym_trace_begin(None))
        count = 500 if mode == "during" else 5000
        figures = {name: launch_us(work, count) for name, work in works.items()}
    text = "  ".join(f"{name} {figure:6.2f} us" for name, figure in figures.items())
    print(f"launch, library {mode:8s} {text}   driver and context {driver_ms:.0f} ms")
    return 0


COSTS = ("without", "loaded", "after", "during")


def child(*arguments):
    with tempfile.TemporaryDirectory() as scratch:
        environment = dict(os.environ)
        environment.update(
            TRITON_CACHE_DIR=scratch + "/triton",
            TORCHINDUCTOR_CACHE_DIR=scratch + "/inductor",
            TORCHINDUCTOR_COMPILE_THREADS="1",
        )
        try:
            done = subprocess.run(
                [sys.executable, Path(__file__).resolve(), *arguments],
                cwd=scratch,
                env=environment,
                capture_output=True,
                text=True,
                timeout=TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            print(f"{' '.join(arguments)}: no end after {TIMEOUT_S} s", flush=True)
            return 1
    print(done.stdout, end="", flush=True)
    if done.returncode not in (0, 1) or not done.stdout:
        print(f"{' '.join(arguments)}: status {done.returncode}\n{done.stderr[-2500:]}", flush=True)
        return 1
    return done.returncode


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--case")
    options.add_argument("--cost", choices=COSTS)
    chosen = options.parse_args()
    if chosen.case:
        return run_case(chosen.case)
    if chosen.cost:
        return run_cost(chosen.cost)
    failed = [name for name in cases() if child("--case", name)]
    failed += [cost for cost in COSTS if child("--cost", cost)]
    print(f"trace_check: {', '.join(failed) or 'all'} {'not ' if failed else ''}ok")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
