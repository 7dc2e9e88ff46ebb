"""Standby server with PyTorch in it: loads everything once, forks a sandboxed process on request.

Started by warpgym with the control socket as descriptor 3; of no use by hand. The protocol and the
sandbox are in C (build/libwarpgym_child.so, src/sandbox/server.h); Python only forks, by its own
means, so that the interpreter of the child is in order.
"""

import ctypes
import errno
import functools
import gc
import os
import site
import stat
import subprocess
import sys
import sysconfig
import types

CONTROL = 3
SANDBOX_BYTES = 65536  # more than sizeof(struct sandbox)
ERR_BYTES = 4096
CHILD_FAILED = 1
SETUPTOOLS = ("setuptools", "setuptools.command", "setuptools.command.build_ext")


def load_library():
    library = ctypes.CDLL(os.environ["WARPGYM_CHILD_LIBRARY"])
    pointer = ctypes.c_void_p
    library.server_receive.argtypes = [ctypes.c_int, pointer, ctypes.POINTER(ctypes.c_int)]
    library.server_enter.argtypes = [pointer, ctypes.c_int, ctypes.POINTER(ctypes.c_uint32)]
    library.sandbox_lock.argtypes = [pointer, ctypes.POINTER(ctypes.c_uint32), pointer]
    library.sandbox_unshare.argtypes = [pointer, ctypes.POINTER(ctypes.c_uint32)]
    library.sandbox_unshare.restype = ctypes.c_bool
    library.sandbox_allow.argtypes = [pointer, ctypes.c_char_p]
    library.sandbox_filter_prepare.argtypes = [pointer]
    return library


def links_of(path):
    """The path and whatever its links lead through, one after the other, down to the real place."""
    steps = [path]
    while os.path.islink(path) and len(steps) < 16:
        target = os.path.join(os.path.dirname(path), os.readlink(path))
        path = os.path.normpath(target)
        steps.append(path)
    return steps + [os.path.realpath(path)]


def readable_paths():
    """What Python and its packages may still read after the sandbox is closed."""
    paths = [sys.prefix, sys.base_prefix, sysconfig.get_paths()["stdlib"]]
    paths += site.getsitepackages()
    # Those of the user, and those that path files add, of another environment, say.
    paths += [path for path in sys.path if path.endswith(("/site-packages", "/dist-packages"))]
    paths += ["/usr/lib", "/lib", "/lib64", "/usr/lib64", "/usr/share/zoneinfo", "/etc/ld.so.cache"]
    return [step for path in paths for step in links_of(path)]


def import_extensions():
    """torch.utils.cpp_extension imports setuptools, and not every environment has that. The judge
    compiles what a candidate gives to it (extension.py), so classes to inherit from will do."""
    try:
        import torch.utils.cpp_extension
    except ModuleNotFoundError as missing:
        if not missing.name.startswith("setuptools"):
            raise
        kept = {name: sys.modules[name] for name in SETUPTOOLS if name in sys.modules}
        sys.modules.update({name: types.ModuleType(name) for name in SETUPTOOLS})
        sys.modules["setuptools"].Command = sys.modules[SETUPTOOLS[-1]].build_ext = object
        sys.modules["setuptools"].command = sys.modules["setuptools.command"]
        sys.modules["setuptools.command"].build_ext = sys.modules[SETUPTOOLS[-1]]
        import torch.utils.cpp_extension  # noqa: F401 - loaded for the children

        for name in SETUPTOOLS:
            del sys.modules[name]
        sys.modules.update(kept)


def preload():
    """Everything that a child may want; nothing that starts a thread."""
    import torch
    import torch.nn.functional

    # It asks whether there is a GPU, only to warn where there is none; and where PyTorch has once
    # asked, no child may use one any more.
    kept, torch.cuda.is_available = torch.cuda.is_available, lambda: True
    import_extensions()
    torch.cuda.is_available = kept

    import warpgym.child
    import warpgym.gpu
    import warpgym.printing  # noqa: F401 - loaded for the children
    import warpgym.triton_build

    try:
        import triton
        import triton.language
        import triton.runtime.interpreter  # noqa: F401 - loaded for the children
    except ImportError:
        pass
    warpgym.triton_build.prepare()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    layer = torch.nn.Linear(4, 4)
    with torch.no_grad():  # first-use initialisation, paid once here
        torch.nn.functional.softmax(layer(torch.randn(2, 4)), dim=-1)
        torch.randn(4).double().contiguous()
        # MKL's vector functions, which two threads may not set up at once: in a child one of them
        # computed its first exp with 16 bits, one time in six (PyTorch 2.13, an Intel Xeon).
        for dtype in (torch.float32, torch.float64):
            torch.exp(torch.ones(4096, dtype=dtype))
    return warpgym.child


def start_nothing():
    """The sandbox lets no process start another. Libraries that look for a tool by running it know
    what to do if it is missing; they do not know it if the tool is there and may not be started."""

    def refuse(arguments, *_):
        raise FileNotFoundError(errno.ENOENT, "no program can be started here", str(arguments[0]))

    subprocess._USE_POSIX_SPAWN = subprocess._USE_VFORK = False
    subprocess._fork_exec = refuse


def become_child(library, sandbox, channel, layers, serve):
    """In the sandboxed process."""
    if library.server_enter(sandbox, channel, ctypes.byref(layers)) != 0:
        os._exit(CHILD_FAILED)
    for name in ("PYTHONPATH", "WARPGYM_CHILD_LIBRARY"):
        os.environ.pop(name, None)
    sys.path[:] = [path for path in sys.path if path]

    start_nothing()
    from warpgym import printing, wire

    judge = wire.Channel(channel)
    is_locked = False

    def lock():
        nonlocal is_locked
        error = ctypes.create_string_buffer(ERR_BYTES)
        if is_locked:
            return
        is_locked = True
        if library.sandbox_lock(sandbox, ctypes.byref(layers), error) != 0:
            raise RuntimeError(error.raw[4:].split(b"\0", 1)[0].decode())
        judge.send(wire.locked(layers.value))

    printing.install()
    try:
        serve(judge, lock)
    finally:
        os._exit(0)


def load_trace():
    """None: nothing is traced here."""
    from warpgym.trace import Trace, Unavailable

    try:
        return Trace(os.environ.get("CUDA_INJECTION64_PATH", ""), os.environ.get("WARPGYM_CUPTI"))
    except Unavailable:
        return None


def has_control():
    try:
        return stat.S_ISSOCK(os.fstat(CONTROL).st_mode)
    except OSError:
        return False


def main():
    if not has_control():
        sys.exit("warpgym.standby: started by warpgym itself; of no use by hand")
    library = load_library()
    module = preload()
    trace = None
    if "WARPGYM_CUDA" in os.environ:
        trace = load_trace()
    else:
        library.tensor_memory_open()
    open_gpu = functools.partial(module.gpu.Gpu, library, trace)
    serve = functools.partial(module.serve, open_gpu=open_gpu, library=library)
    paths = [path.encode() for path in readable_paths()]
    error = ctypes.create_string_buffer(ERR_BYTES)
    library.sandbox_filter_prepare(error)
    sandbox = ctypes.create_string_buffer(SANDBOX_BYTES)
    channel = ctypes.c_int()
    gc.collect()
    gc.freeze()  # a collection in a child would copy every page of PyTorch
    if library.server_ready(CONTROL) != 0:
        os._exit(0)  # no judge waits any more: Python's own exit would only print
    while library.server_receive(CONTROL, sandbox, ctypes.byref(channel)) > 0:
        for path in paths:
            library.sandbox_allow(sandbox, path)
        outer = os.fork()
        if outer == 0:
            layers = ctypes.c_uint32()
            if not library.sandbox_unshare(sandbox, ctypes.byref(layers)):
                os._exit(1)
            inner = os.fork()
            if inner != 0:
                os._exit(library.server_announce(channel.value, inner) != 0)
            os.close(CONTROL)
            become_child(library, sandbox, channel.value, layers, serve)
        os.close(channel.value)
        _, status = os.waitpid(outer, 0)
        library.server_reply(CONTROL, 0 if status == 0 else -1)
    os._exit(0)


if __name__ == "__main__":
    main()
