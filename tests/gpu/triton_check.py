"""Triton behind the hooks on a real GPU: what works, and where the milliseconds of a softmax go.

    python tests/gpu/triton_check.py [--python DIRECTORY]

A standby server imports PyTorch and Triton, prepares Triton, and forks one child for each kernel.
A child may start no process (an audit hook sees to it); what is to be built it asks of a stand-in
for the judge, which runs ptxas and gcc plainly and keeps what it built. "cold": nothing was built
before; "warm": a new process, everything was.
"""

import argparse
import array
import hashlib
import json
import os
import pathlib
import socket
import struct
import subprocess
import sys
import sysconfig
import tempfile
import time
import traceback

BUILT = 11  # src/judge/process/wire.h
HERE = pathlib.Path(__file__).resolve().parent
FORBIDDEN = ("os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.system", "subprocess.Popen")

# --- a judge that trusts everybody -------------------------------------------------------------


def ptxas_command(request, packages, place):
    tool = packages / "triton/backends/nvidia/bin" / request["tool"]
    return [tool, *request["options"], place / "source", "-o", place / "built"]


def launcher_command(request, packages, place):
    python, cuda = sysconfig.get_paths()["include"], packages / "triton/backends/nvidia/include"
    flags = ["-O1", "-shared", "-fPIC", "-w", f"-I{cuda}", f"-I{python}"]
    return ["gcc", "-x", "c", *flags, "-o", place / "built", place / "source"]


def serve_builds(channel, packages):
    commands = {"ptx": ptxas_command, "launcher": launcher_command}
    kept = {}
    while True:
        message, ancillary, _, _ = channel.recvmsg(65536, socket.CMSG_SPACE(16))
        if not message:
            return
        descriptors = array.array("i")
        for _, _, data in ancillary:
            descriptors.frombytes(data[: len(data) - len(data) % 4])
        with os.fdopen(descriptors[0], "rb") as file:
            text = file.read()
        key = hashlib.sha256(text).digest()
        if key not in kept:
            request = json.loads(text)
            with tempfile.TemporaryDirectory() as name:
                place = pathlib.Path(name)
                (place / "source").write_text(request["source"])
                made = commands[request["kind"]](request, packages, place)
                run = subprocess.run(made, check=False, stderr=subprocess.PIPE)
                built = place / "built"
                kept[key] = (
                    run.stderr[-8000:],
                    built.read_bytes() if run.returncode == 0 else None,
                )
        words, built = kept[key]
        head = struct.pack("<II", BUILT, built is not None)
        with tempfile.TemporaryFile() as out:
            out.write(built or b"")
            out.seek(0)
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [out.fileno()]))]
            channel.sendmsg([head + words.ljust(8192, b"\0")[:8192]], rights if built else [])


# --- what a child does -------------------------------------------------------------------------


class Timeline:
    def __init__(self):
        self.start = self.last = time.perf_counter()
        self.rows = []

    def mark(self, what):
        now = time.perf_counter()
        self.rows.append((what, 1e3 * (now - self.last)))
        self.last = now

    def add(self, what, ms):
        self.rows.append(("  " + what, ms))

    def wrap(self, what, owner, name):
        inner = getattr(owner, name)

        def outer(*arguments, **keywords):
            start = time.perf_counter()
            try:
                return inner(*arguments, **keywords)
            finally:
                label = f" {arguments[0]}" if arguments and isinstance(arguments[0], str) else ""
                self.add(what + label, 1e3 * (time.perf_counter() - start))

        setattr(owner, name, outer)

    def print(self, title):
        print(f"{title}: {1e3 * (self.last - self.start):.1f} ms")
        for what, ms in self.rows:
            print(f"    {ms:9.1f}  {what}")


def softmax(line):
    import torch
    import triton
    import triton_kernels_check as kernels
    from triton.backends.nvidia import driver
    from warpgym import triton_build

    def listener(times, **_):
        line.add("front end: syntax tree to TTIR", times.ir_initialization / 1e3)
        for stage, us in times.lowering_stages:
            line.add(f"front end: {stage}", us / 1e3)
        line.add("front end: store", times.store_results / 1e3)

    triton.knobs.compilation.listener = listener
    line.wrap("judge builds", triton_build._judge, "build")
    line.wrap("driver module, with its build", driver.CudaUtils, "__init__")
    line.wrap("launcher, with its build", driver.CudaLauncher, "__init__")
    line.wrap("compile", triton.compiler, "compile")
    line.mark("the candidate is imported (and wrapped for this timeline)")
    torch.cuda.init()
    x = torch.empty(1, device="cuda")
    line.mark("CUDA context")
    x = torch.randn(4096, 16384, device="cuda")
    torch.cuda.synchronize()
    line.mark("input")
    utils = triton.runtime.driver.active.utils
    line.mark("Triton's driver")
    line.wrap("load the cubin", utils, "load_binary")
    y = kernels.softmax(x)
    line.mark("first call, until it returns")
    torch.cuda.synchronize()
    line.mark("first call, on the GPU")
    kernels.softmax(x)
    torch.cuda.synchronize()
    line.mark("second call")
    torch.testing.assert_close(y, torch.softmax(x, -1))
    line.mark("compare")


def check(name):
    def run(line):
        import torch
        import triton_kernels_check as kernels

        getattr(kernels, name)()
        torch.cuda.synchronize()
        line.mark("all of it")

    return run


def softmax_stood_ready(line):
    """In a process that opened the GPU, and compiled, before its candidate came."""
    import torch
    from warpgym import triton_build

    torch.empty(1, device="cuda")
    triton_build.ready()
    line.mark("before the candidate comes")
    softmax(line)


CHILDREN = [
    ("softmax, cold", softmax),
    ("softmax, warm", softmax),
    ("softmax, warm, in a process that stood ready", softmax_stood_ready),
] + [
    (name, check(name))
    for name in (
        "check_autotune",
        "check_heuristics",
        "check_libdevice",
        "check_device_descriptor",
        "check_host_descriptor",
        "check_dot",
        "check_atomics",
        "check_do_bench",
        "check_bad_assembly",
        "check_bad_source",
    )
]


def child(title, body, channel, forked):
    from warpgym import triton_build, wire

    line = Timeline()
    line.add("fork", 1e3 * (line.start - forked))

    def forbid(event, _):
        if event in FORBIDDEN:
            raise PermissionError(f"a candidate may not: {event}")

    sys.addaudithook(forbid)
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        triton_build.install(wire.Channel(channel))
        line.mark("install")
        try:
            body(line)
        except BaseException:
            line.print(f"FAILED {title}")
            traceback.print_exc(limit=-8)
            return 1
        line.print(title)
        return 0


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--python", default=HERE.parents[1] / "python", help="warpgym's modules")
    sys.path[:0] = [str(options.parse_args().python), str(HERE), str(HERE.parent / "system")]
    os.environ.pop("TRITON_INTERPRET", None)
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # as the standby server has it: it forks
    judge, child = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    packages = pathlib.Path(sysconfig.get_paths()["purelib"])
    serving = os.fork()
    if serving == 0:
        child.close()
        serve_builds(judge, packages)
        os._exit(0)
    judge.close()
    line = Timeline()
    import torch

    line.mark("import torch")
    import triton

    line.mark(f"import triton {triton.__version__}")
    from warpgym import triton_build

    ready = triton_build.prepare()
    line.mark("prepare Triton")
    line.print("standby")
    print(f"    prepared: {ready}; threads: {len(os.listdir('/proc/self/task'))}", end="; ")
    print(f"CUDA initialised: {torch.cuda.is_initialized()}")
    failed = 0
    for title, body in CHILDREN:
        sys.stdout.flush()
        forked = time.perf_counter()
        made = os.fork()
        if made == 0:
            status = child(title, body, os.dup(child.fileno()), forked)
            sys.stdout.flush()
            os._exit(status)
        failed += os.waitpid(made, 0)[1] != 0
    child.close()
    os.waitpid(serving, 0)
    print(f"{len(CHILDREN) - failed} of {len(CHILDREN)} fine")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
