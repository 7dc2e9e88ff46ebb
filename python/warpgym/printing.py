"""Standard output and error of a child: what it prints goes to memory of a fixed size at once.

The judge reads that memory from outside (src/sandbox/output.h). Beyond its end a write fails, and
with it a print would raise: here it does not.
"""

import contextlib
import io
import os
import sys


class Bounded(io.RawIOBase):
    """A descriptor, with what it does not take left out."""

    def __init__(self, descriptor):
        super().__init__()
        self.descriptor = descriptor

    def fileno(self):
        return self.descriptor

    def writable(self):
        return True

    def write(self, data):
        with contextlib.suppress(OSError):
            os.write(self.descriptor, data)
        return len(data)


def install():
    """A process that is killed has written all that it printed; no text is refused."""
    for name, descriptor in (("stdout", 1), ("stderr", 2)):
        stream = io.TextIOWrapper(
            Bounded(descriptor), "utf-8", errors="backslashreplace", write_through=True
        )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
