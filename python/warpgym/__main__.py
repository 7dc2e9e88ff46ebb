"""`warpgym`, and `python3 -m warpgym`: becomes the program that the wheel has brought."""

import importlib.util
import os
import signal
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Of the wheel, else of the checkout that this file lies in.
PROGRAMS = (HERE / "native" / "warpgym", HERE.parents[1] / "warpgym")


def has_torch():
    found = importlib.util.find_spec("torch")
    return found is not None and found.origin is not None


def main():
    program = next((path for path in PROGRAMS if path.is_file()), None)
    if program is None:
        sys.exit(
            "warpgym: this installation has the Python client alone, and not the program: install "
            "the wheel that `make wheel` builds, or run `make` in the checkout"
        )
    # The judge's Python is this one, unless the user named another. If this one has no PyTorch, the
    # program looks through $PATH.
    if sys.executable and not os.environ.get("WARPGYM_PYTHON") and has_torch():
        os.environ["WARPGYM_PYTHON"] = sys.executable
    # Python ignores these signals, and a program that replaces it would go on ignoring them.
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(ignored, signal.SIG_DFL)
    try:
        os.execv(program, ["warpgym", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"warpgym: {program} cannot be executed: {error.strerror}")


if __name__ == "__main__":
    main()
