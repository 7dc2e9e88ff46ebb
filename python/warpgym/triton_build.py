"""Triton in a process that may not start another one.

Triton's front end, from Python's syntax tree down to PTX, is a library and runs where the candidate
runs. The judge runs what Triton would start as a program: ptxas, and the C compiler for the modules
that load and launch kernels. Everything else of Triton stays as it is: its own cache
(in scratch, it dies with the sandbox), its autotuner, its errors.

`prepare` is for the standby server, before it forks: it puts the hooks in place and compiles two
kernels as far as PTX, so that children find everything read, parsed and initialised. `ready` is for
a child of a warm pool, `install` for one that has its candidate: it names the channel.
"""

import contextlib
import ctypes
import gc
import io
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import threading

from . import wire

WARM_ARCHITECTURE = 90


class Refused(Exception):
    """The judge built nothing; the text says why, in the words of the tool."""


class _Judge:
    """The one channel, and whose turn it is: Triton may compile in several threads."""

    def __init__(self):
        self.channel = None
        self.lock = threading.Lock()

    def build(self, kind, source, **fields):
        """The bytes of what was built."""
        if self.channel is None:
            raise Refused("this process may not have anything built")
        path = os.path.join(os.getcwd(), f".{kind}-{threading.get_ident()}")
        with open(path, "w+", encoding="utf-8") as request:
            os.unlink(path)
            json.dump({"kind": kind, "source": source, **fields}, request, ensure_ascii=False)
            request.seek(0)  # the judge reads on from where this descriptor stands
            with self.lock:
                self.channel.send(wire.HEAD.pack(wire.BUILD, 0), [request.fileno()])
                answer, descriptors = self.channel.receive()
        if not answer:
            raise Refused("the judge is gone")
        _, failure = wire.BUILT_HEAD.unpack_from(answer)
        if failure:
            text = answer[wire.BUILT_HEAD.size :].split(b"\0", 1)[0]
            raise Refused(text.decode("utf-8", "replace"))
        with os.fdopen(descriptors[0], "rb") as built:
            return built.read()


class _Subprocess:
    """What Triton's NVIDIA backend takes for the module `subprocess`."""

    FAILED = 255  # as ptxas ends when it does not like its input

    def __init__(self, judge):
        self.judge = judge
        self.versions = {}

    def __getattr__(self, name):
        return getattr(subprocess, name)

    def check_output(self, command, **keywords):
        path, *options = command
        if options == ["--version"] and path in self.versions:
            return self.versions[path]
        return subprocess.check_output(command, **keywords)

    def run(self, command, stderr=None, **_):
        """ptxas OPTIONS… SOURCE -o RESULT"""
        path, *options, source, _, result = command
        with open(source, encoding="utf-8") as file:
            text = file.read()
        try:
            cubin = self.judge.build("ptx", text, tool=os.path.basename(path), options=options)
        except Refused as refusal:
            os.write(stderr.fileno(), str(refusal).encode())
            raise subprocess.CalledProcessError(self.FAILED, command) from None
        with open(result, "wb") as file:
            file.write(cubin)


_judge = _Judge()
_subprocess = _Subprocess(_judge)


def _build_module(name, source, directory, *_, **__):
    """In place of the C compiler: directories and libraries are the judge's to choose."""
    with open(source, encoding="utf-8") as file:
        text = file.read()
    # The module is linked against nothing: it finds the driver because that is there for all.
    ctypes.CDLL(os.environ.get("WARPGYM_CUDA", "libcuda.so.1"), ctypes.RTLD_GLOBAL)
    try:
        built = _judge.build("launcher", text)
    except Refused as refusal:
        raise RuntimeError(f"Triton's module {name}: {refusal}") from None
    path = os.path.join(directory, name + sysconfig.get_config_var("EXT_SUFFIX"))
    with open(path, "wb") as file:
        file.write(built)
    return path


def _hook():
    """Puts the judge where Triton 3.5 and later would start a program."""
    import triton.runtime.build
    import triton.runtime.cache
    from triton import knobs
    from triton.backends.nvidia import compiler, driver

    for name in ("ptxas", "ptxas_blackwell"):
        if name in vars(type(knobs.nvidia)):  # it is asked its version now, and not again
            path = getattr(knobs.nvidia, name).path
            _subprocess.versions[path] = subprocess.check_output([path, "--version"])
    compiler.subprocess = _subprocess
    driver.libcuda_dirs = list
    knobs.build.impl = _build_module
    # Half a second of hashing Triton itself, for a cache that never outlives this Triton.
    triton.runtime.cache.triton_key = lambda: triton.__version__


def _warm(kernels):
    """Compiles as far as PTX."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    target = GPUTarget("cuda", WARM_ARCHITECTURE, 32)
    for kernel, signature, constants in kernels:
        # There is no judge to request ptxas from yet: compilation ends here.
        with contextlib.suppress(triton.runtime.errors.PTXASError):
            triton.compile(ASTSource(kernel, signature, constants), target=target)
    gc.collect()  # MLIR's contexts: in Triton 3.5 each has threads, which no fork survives


@contextlib.contextmanager
def _elsewhere():
    """Triton's files go to a directory that is removed, what it prints goes nowhere."""
    kept = tempfile.tempdir
    with tempfile.TemporaryDirectory() as place:
        os.environ["TRITON_CACHE_DIR"] = tempfile.tempdir = place
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                yield
        finally:
            del os.environ["TRITON_CACHE_DIR"]
            tempfile.tempdir = kept


def prepare():
    """In the standby server, before it forks. False: no Triton here compiles for NVIDIA's GPUs."""
    try:
        import triton.language.extra.libdevice
        import triton.runtime.errors
        import triton.testing
        import triton.tools.tensor_descriptor  # noqa: F401

        if triton.knobs.runtime.interpret:
            return False
        from . import triton_kernels

        _hook()
        with _elsewhere():
            _warm(triton_kernels.WARM)
    except Exception:  # noqa: BLE001 - another Triton; a candidate that wants it will say so
        return False
    return True


def ready():
    """In a sandboxed process that waits for its candidate: has the page faults now (some 2500) that
    its first compilation would have."""
    if _subprocess.versions:
        from . import triton_kernels

        with contextlib.suppress(Exception), _elsewhere():
            _warm(triton_kernels.WARM[:1])


def install(channel):
    """In the candidate's process, before its source is imported."""
    _judge.channel = channel
    if "triton" not in sys.modules:
        return
    # What was found out before the fork is not where this process may write.
    tempfile.tempdir = os.getcwd()
    os.environ["TRITON_HOME"] = os.getcwd()
