"""One process that compiles Triton kernels, for test_triton.py.

    triton_child.py stock DIRECTORY
        as Triton does it by itself
    triton_child.py sandboxed LIBRARY CHANNEL DIRECTORY…
        for each directory a child, forked behind the system-call filter, that sends the judge
        (descriptor CHANNEL) requests for what is to be built

Leaves NAME.ptx and NAME.cubin, or NAME.error, for each kernel in DIRECTORY, which is the working
directory, too; and at last a file `done`.
"""

import ctypes
import json
import os
import pathlib
import subprocess
import sys
import traceback

FILTER_RUN = 0
PR_SET_NO_NEW_PRIVS = 38


def compile_all():
    import triton
    import triton_cases
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    for name, case in (triton_cases.GOOD | triton_cases.BAD).items():
        kernel, signature, constants, options = case
        source = ASTSource(kernel, signature, constants)
        options = dict(options)
        target = GPUTarget("cuda", options.pop("target", 90), 32)
        try:
            built = triton.compile(source, target=target, options=options)
            pathlib.Path(f"{name}.ptx").write_text(built.asm["ptx"])
            pathlib.Path(f"{name}.cubin").write_bytes(built.asm["cubin"])
        except Exception as error:
            pathlib.Path(f"{name}.error").write_text(f"{type(error).__name__}: {error}")


def load_driver_module():
    """The module that loads kernels, against a driver that only has the names."""
    ctypes.CDLL(os.path.abspath("libcuda.so.1"))
    from triton.backends.nvidia import driver

    made = driver.CudaUtils()
    names = sorted(name for name in vars(made) if not name.startswith("_"))
    pathlib.Path("driver.json").write_text(json.dumps(names))


def lock_sandbox(library):
    fence = ctypes.CDLL(library)
    error = ctypes.create_string_buffer(4096)
    ctypes.CDLL(None).prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if fence.sandbox_filter_load(FILTER_RUN, error) != 0:
        raise RuntimeError(error.raw[4:].split(b"\0", 1)[0].decode())
    try:
        subprocess.run(["/bin/true"], check=False)
    except PermissionError:
        return
    raise RuntimeError("the filter lets processes start")


def child(library, channel, directory):
    from warpgym import triton_build, wire

    os.chdir(directory)
    judge = wire.Channel(os.dup(channel))
    lock_sandbox(library)
    triton_build.install(judge)
    compile_all()
    if os.path.exists("libcuda.so.1"):
        load_driver_module()
    pathlib.Path("done").touch()


def sandboxed(library, channel, *directories):
    from warpgym import triton_build

    if not triton_build.prepare():
        raise RuntimeError("Triton was not prepared")
    threads = len(os.listdir("/proc/self/task"))
    if threads != 1:
        raise RuntimeError(f"preparing left {threads} threads, and is to be forked")
    for directory in directories:
        made = os.fork()
        if made == 0:
            try:
                child(library, int(channel), directory)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        if os.waitpid(made, 0)[1] != 0:
            raise RuntimeError(f"the child of {directory} failed")


def stock(directory):
    os.chdir(directory)
    os.environ["TRITON_HOME"] = directory
    compile_all()


if __name__ == "__main__":
    {"stock": stock, "sandboxed": sandboxed}[sys.argv[1]](*sys.argv[2:])
