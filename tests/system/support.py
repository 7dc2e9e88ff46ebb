"""Runs warpgym as a user would, and finds out what it left behind.

Every run gets a home, a cache and a TMPDIR below a folder of the test's, and none of the caller's
WARPGYM_ variables. This process is the reaper of orphans (PR_SET_CHILD_SUBREAPER): whatever a run
leaves running becomes our child, and nothing else does.
"""

import contextlib
import ctypes
import json
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import verdicts

ROOT = Path(__file__).resolve().parents[2]
WARPGYM = Path(os.environ.get("TEST_WARPGYM") or ROOT / "warpgym")
# Where the binary finds its problems and its Python: beside itself (build/address has links).
CHECKOUT = WARPGYM.parent
PYTHON = CHECKOUT / ".venv" / "bin" / "python3"

PASSED, SOME_FAILED, USAGE, INFRASTRUCTURE, INTERRUPTED = 0, 1, 2, 3, 130
# Other tests run beside this one, in other workers of pytest-xdist.
WORKER = os.environ.get("PYTEST_XDIST_WORKER", "alone")
# The bound that separates a hang from slowness: no slow machine reaches it.
TIMEOUT_S = 300
# Sanitizers make the judge slow, not wrong.
WAIT_S = 60

PR_SET_CHILD_SUBREAPER = 36
ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

# KernelGYM's names count as settings, too.
KERNELGYM = {
    *("API_HOST", "API_PORT", "REDIS_HOST", "REDIS_PORT", "REDIS_DB", "REDIS_PASSWORD"),
    *("GPU_DEVICES", "LOG_LEVEL"),
}

SPIN = """#include <stddef.h>
#include <sys/prctl.h>
void solution(const float *x, float *y, size_t rows, size_t cols)
{
    (void)x, (void)y, (void)rows, (void)cols;
    prctl(PR_SET_NAME, "spinning");
    for (volatile int i = 1; i;)
        ;
}
"""

# --- processes -----------------------------------------------------------------------------------


class Process:
    """One line of /proc/PID/stat."""

    def __init__(self, pid):
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        self.pid = pid
        self.name = text[text.index("(") + 1 : text.rindex(")")]
        fields = text[text.rindex(")") + 2 :].split()
        self.state, self.parent, self.started = fields[0], int(fields[1]), int(fields[19])

    def __repr__(self):
        return f"{self.name}[{self.pid}] {self.state}"


def processes():
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError, ValueError):
                found.append(Process(int(name)))
    return found


def children(pid):
    """Oldest first: the standby server of a run, then its sides."""
    found = [process for process in processes() if process.parent == pid]
    return sorted(found, key=lambda process: (process.started, process.pid))


def descendants(pid):
    found = processes()
    wanted = {pid}
    while True:
        more = {process.pid for process in found if process.parent in wanted} - wanted
        if not more:
            return [process for process in found if process.pid in wanted - {pid}]
        wanted |= more


def alive(pid):
    try:
        return Process(pid).state not in "ZX"
    except OSError:
        return False


def wait_until(condition, what, seconds=WAIT_S):
    """The condition's value as soon as there is one."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, f"never happened: {what}"
        time.sleep(0.01)


def kill(pid):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def captured(command, **options):
    """Any program: its status and what it printed, as text."""
    options = {"timeout": TIMEOUT_S} | options
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


# --- one run -------------------------------------------------------------------------------------


class Run:
    """What a command that has ended printed."""

    def __init__(self, status, out, err):
        self.status = status
        self.out = out.decode("utf-8")
        self.err = err.decode("utf-8")

    @property
    def verdicts(self):
        return [verdicts.checked(json.loads(line)) for line in self.out.splitlines()]

    @property
    def verdict(self):
        (verdict,) = self.verdicts
        return verdict

    @property
    def complaint(self):
        """The one line that a refused command prints on standard error."""
        lines = self.err.splitlines()
        assert len(lines) == 1 and lines[0].startswith("warpgym: "), self
        assert self.out == "", self
        return lines[0].removeprefix("warpgym: ")

    def __repr__(self):
        return f"exit status {self.status}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


class Warpgym:
    """Runs commands in an environment of its own; `check_nothing_left` after the last one."""

    def __init__(self, folder, cache=None):
        self.folder = Path(folder)
        self.running = []
        self.temporary = self.folder / "temporary"
        self.environment = {
            key: value for key, value in os.environ.items()
            if not key.startswith("WARPGYM_") and key not in KERNELGYM
        }
        self.environment |= {
            "HOME": str(self.folder / "home"),
            "TMPDIR": str(self.temporary),
            "XDG_CACHE_HOME": str(cache or self.folder / "cache"),
            "XDG_STATE_HOME": str(cache / f"state-{WORKER}" if cache else self.folder / "state"),
            "XDG_CONFIG_HOME": str(self.folder / "config"),
            "LC_ALL": "C.UTF-8",
        }
        for name in ("HOME", "TMPDIR"):
            Path(self.environment[name]).mkdir(parents=True, exist_ok=True)
        self.before = traces()

    def start(self, *arguments, environment=None, cwd=None, wrapper=(), **options):
        """A running command, in a session of its own. None as a value removes a variable."""
        variables = self.environment | (environment or {})
        pipe = subprocess.PIPE
        options = {"stdin": subprocess.DEVNULL, "stdout": pipe, "stderr": pipe} | options
        process = subprocess.Popen(
            [*wrapper, str(WARPGYM), *map(str, arguments)],
            env={key: value for key, value in variables.items() if value is not None},
            cwd=cwd or self.folder,
            start_new_session=True,
            **options,
        )
        self.running.append(process)
        return process

    def finish(self, process, timeout=TIMEOUT_S, expect=None):
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            kill(process.pid)
            out, err = process.communicate()
            text = err.decode("utf-8", "replace")
            raise AssertionError(
                f"still running after {timeout} s: {process.args}\n{text}"
            ) from None
        run = Run(process.returncode, out or b"", err or b"")
        assert expect in (None, run.status), run
        return run

    def __call__(self, *arguments, timeout=TIMEOUT_S, expect=None, **options):
        """`expect` is the exit status that the run must have."""
        return self.finish(self.start(*arguments, **options), timeout, expect)

    def ok(self, *arguments, **options):
        return self(*arguments, expect=PASSED, **options)

    def refused(self, words, *arguments, status=USAGE, **options):
        """Ends with one line, which holds these words."""
        run = self(*arguments, expect=status, **options)
        assert words in run.complaint, run
        return run

    def eval(self, *arguments, **options):
        """Correctness only, one verdict a line."""
        return self("eval", "--json", "--quiet", "--no-timing", *arguments, **options)

    def check_nothing_left(self):
        for process in self.running:
            if process.poll() is None:
                kill(process.pid)
                process.wait()
        self.running.clear()
        left = orphans(WAIT_S)
        for process in left:
            kill(process.pid)
        assert not left, f"left running: {left}"
        assert not traces() - self.before
        assert not list(self.temporary.iterdir()), list(self.temporary.rglob("*"))[:20]


def orphans(seconds):
    """What became our child and does not end."""
    deadline = time.monotonic() + seconds
    while True:
        left = children(os.getpid())
        for process in left:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(process.pid, os.WNOHANG)
        left = [process for process in left if alive(process.pid)]
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.02)


def traces():
    """What no run may leave in shared places. No run creates any, so tests that run in parallel
    cannot disturb each other here: a trace means that a sandbox leaks."""
    names = {path for path in Path("/dev/shm").iterdir() if path.name.startswith("warpgym")}
    shared_memory = Path("/proc/sysvipc/shm").read_text(encoding="utf-8").splitlines()
    return names | {line.split()[1] for line in shared_memory[1:]}


# --- candidates and problems ---------------------------------------------------------------------


def problem_folder(name):
    return CHECKOUT / "problems" / "native" / name


def fast(name):
    """The honest fast solution of a native problem."""
    return problem_folder(name) / "tests" / "fast.c"


def wrong(name):
    return problem_folder(name) / "tests" / "wrong.c"


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return path


def write_lines(path, objects):
    return write(path, "".join(json.dumps(one) + "\n" for one in objects))


def read_lines(path):
    """JSON, in which every verdict is one of its schema."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [verdicts.checked(json.loads(line)) for line in lines]


def kernelbench_module(factor=1):
    """A problem in the form of KernelBench: y = factor * x * x, and a bias of zero."""
    return f"""import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width):
        super(Model, self).__init__()
        self.weight = nn.Parameter(torch.randn(width))

    def forward(self, x):
        return {factor} * x * x + self.weight


def get_inputs():
    return [torch.randn(31, 17)]


def get_init_inputs():
    return [17]
"""


def statuses(verdicts):
    return [verdict["status"] for verdict in verdicts]
