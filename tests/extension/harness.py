"""The judge's builder and one candidate process that asks it, without the rest."""

import contextlib
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
CHECKOUT = Path(os.environ.get("TEST_WARPGYM", HERE.parents[1] / "warpgym")).resolve().parent
JUDGE = CHECKOUT / "build" / "tests" / "judge" / "build_judge"
CORPUS = HERE / "corpus"
MOVE = "import os, sys; os.dup2(int(sys.argv[1]), 3); os.execv(sys.argv[2], sys.argv[2:])"
TIMEOUT_S = 1200


def nvcc():
    """Where nvcc is, as src/compile/toolchain.c finds it; None."""
    places = [os.environ.get("WARPGYM_NVCC"), os.environ.get("CUDA_HOME", "") + "/bin/nvcc"]
    places += [folder + "/nvcc" for folder in os.environ.get("PATH", "").split(":")]
    places += ["/usr/local/cuda/bin/nvcc"]
    return next((place for place in places if place and os.access(place, os.X_OK)), None)


def has_header(name):
    """Whether nvcc finds it."""
    command = [nvcc(), "-E", "-x", "cu", "-include", name, "/dev/null", "-o", "/dev/null"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@contextlib.contextmanager
def judge(cache, capability=(0, 0), python=sys.executable):
    """The candidate's end of a channel to the judge's builder, and the builder's lines."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    process = subprocess.Popen(
        [sys.executable, "-c", MOVE, str(theirs.fileno()), JUDGE, cache, *map(str, capability)],
        pass_fds=[theirs.fileno()],
        stdout=subprocess.PIPE,
        env={**os.environ, "WARPGYM_PYTHON": str(python)},
        text=True,
    )
    theirs.close()
    with process:
        yield ours, process.stdout
        ours.close()
    assert process.returncode == 0


def build(files, folder, capability=(9, 0), cache=None, python=sys.executable):
    """Builds each file's extensions, and runs them where it can. A list of dicts: what
    extension_child.py says of the file, `built`, `slim` (numbers) and `ms`."""
    folder.mkdir(exist_ok=True)
    libraries = str(Path(os.path.realpath(nvcc() or "/")).parents[1] / "lib64")
    results = []
    with judge(cache or folder / "cache", capability, python) as (ours, lines_of_judge):
        for file in files:
            child = subprocess.run(
                [str(python), str(HERE / "extension_child.py"), str(ours.fileno()), str(folder)]
                + [str(file)],
                pass_fds=[ours.fileno()],
                capture_output=True,
                text=True,
                check=False,
                timeout=TIMEOUT_S,
                env={**os.environ, "LD_LIBRARY_PATH": libraries},
            )
            lines = child.stdout.splitlines()
            result = json.loads(lines[-1]) if lines else {"file": file.name, "asked": 0}
            if child.returncode != 0:
                result["error"] = f"ended with {child.returncode}: {child.stderr[-500:]}"
            # The judge prints a line for each request.
            said = [lines_of_judge.readline().split() for _ in range(result["asked"])]
            for at, key in enumerate(("built", "slim", "ms")):
                result[key] = sum(int(line[at]) for line in said)
            results.append(result)
    return results
