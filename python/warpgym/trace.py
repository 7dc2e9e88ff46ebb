"""build/libwarpgym_trace.so (src/judge/trace/trace_library.h) in a sandboxed process: which kernels
a pass launched, and whose they are."""

import contextlib
import ctypes
import os

REASONS = {
    -1: "there is no CUPTI on this machine, or one that lacks functions",
    -2: "CUPTI is older than CUDA 11.8's",
    -3: "CUPTI refuses: another tool may be using it",
    -4: "the driver did not load the library that traces",
    -5: "no pass was begun",
    -6: "the trace could not be written",
}


class Unavailable(Exception):
    """Launches cannot be traced here; the text says why."""


class Trace:
    """Made before the driver starts and before the sandbox is closed; in the server, for its
    children.
    PyTorch must be there already: the CUPTI that it brings is the one to use. `cupti` names
    another, or is None."""

    def __init__(self, path, cupti=None):
        self.cupti = cupti.encode() if cupti else None
        try:
            self.library = ctypes.CDLL(path)
        except OSError as error:
            raise Unavailable(str(error)) from None
        self.library.warpgym_trace_prepare.argtypes = [ctypes.c_char_p]
        self.library.warpgym_trace_begin.argtypes = [ctypes.c_char_p]
        self._check(self.library.warpgym_trace_prepare(self.cupti))
        os.environ["CUDA_INJECTION64_PATH"] = path

    def _check(self, result):
        if result != 0:
            refusal = self.library.warpgym_trace_refusal()
            raise Unavailable(
                f"launches cannot be traced: {REASONS.get(result)} (CUPTI's error {refusal})"
            )

    def snapshot(self):
        """Before the candidate's code is there, in the scratch directory."""
        self.library.warpgym_trace_library_snapshot()

    @contextlib.contextmanager
    def recording(self, descriptor):
        """What is launched inside it goes as a stream (trace_stream.h) to the descriptor. The
        device is idle before it and at its end."""
        self._check(self.library.warpgym_trace_begin(None))
        try:
            yield
        finally:
            ended = self.library.warpgym_trace_end(descriptor)
        self._check(ended)
