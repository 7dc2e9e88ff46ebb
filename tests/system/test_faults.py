"""SIGKILL for every process of a run, in its middle: one candidate may suffer, no other does."""

import os
import re
import shutil
import signal

import pytest
from support import (
    INFRASTRUCTURE,
    PASSED,
    PYTHON,
    SOME_FAILED,
    SPIN,
    alive,
    children,
    descendants,
    fast,
    kernelbench_module,
    kill,
    read_lines,
    statuses,
    wait_until,
    write,
    write_lines,
    wrong,
)

SERVER, REFERENCE, CANDIDATE = range(3)

# Doubles itself until the compiler has enough to do for the time limit.
SLOW_TO_COMPILE = (
    "#define A(x) x x x x x x x x\n#define B(x) A(A(A(x)))\n"
    "void solution(void)\n{\n    volatile int i = 0;\n    B(B(i++; if (i == 3) i += i;))\n}\n"
)


def batch(folder, middle):
    """An endless candidate, and others of the same problem and of another around it."""
    write(folder / "middle.c", middle)
    return write_lines(
        folder / "batch.jsonl",
        [
            {"problem": "softmax", "candidate": str(fast("softmax"))},
            {"problem": "softmax", "candidate": "middle.c"},
            {"problem": "softmax", "candidate": str(fast("softmax"))},
            {"problem": "relu", "candidate": str(fast("relu"))},
            {"problem": "softmax", "candidate": str(wrong("softmax"))},
        ],
    )


def start(warpgym, lines, *settings):
    options = [word for setting in settings for word in ("--set", setting)]
    return warpgym.start("eval", "--json", "--quiet", "--no-timing", *options, lines)


def parts(process):
    """[standby server, reference side, candidate side] once the endless candidate runs."""

    def found():
        mine = children(process.pid)
        spinning = [child for child in mine if child.name == "spinning"]
        return mine if len(mine) == 3 and spinning == [mine[CANDIDATE]] else None

    return wait_until(found, "the endless candidate runs beside its server and its reference")


# The process, the statuses allowed for the candidate in the middle, and those for the next one of
# its problem: an evaluation whose reference process has just died may have to be judged again.
VICTIMS = {
    "server": (SERVER, {"timeout"}, {"passed"}),
    "reference": (REFERENCE, {"timeout"}, {"passed", "infrastructure_error"}),
    "candidate": (CANDIDATE, {"runtime_error"}, {"passed"}),
}


@pytest.mark.parametrize("victim", VICTIMS)
def test_killed_part(warpgym, tmp_path, victim):
    index, allowed, allowed_next = VICTIMS[victim]
    process = start(warpgym, batch(tmp_path, SPIN), "run.timeout_ms=2s")
    kill(parts(process)[index].pid)
    run = warpgym.finish(process)
    first, middle, after, *others = statuses(run.verdicts)
    assert first == "passed" and others == ["passed", "wrong"], run
    assert middle in allowed, run.verdicts[1]["error"]
    assert after in allowed_next, run.verdicts[2]["error"]
    if after == "infrastructure_error":
        message = run.verdicts[2]["error"]["message"]
        assert re.match("the reference of problem softmax failed: .+", message)
    assert run.status == (INFRASTRUCTURE if after == "infrastructure_error" else SOME_FAILED)
    if victim == "candidate":
        assert "SIGKILL" in run.verdicts[1]["error"]["message"]


def test_all_parts_killed_at_once(warpgym, tmp_path):
    process = start(warpgym, batch(tmp_path, SPIN), "run.timeout_ms=2s")
    for part in parts(process):
        kill(part.pid)
    run = warpgym.finish(process)
    first, middle, after, *others = statuses(run.verdicts)
    assert first == "passed" and others == ["passed", "wrong"], run
    assert middle in ("runtime_error", "infrastructure_error")
    assert after in ("passed", "infrastructure_error")


def compiling(process):
    return [part for part in descendants(process.pid) if part.name == "cc1"]


def test_killed_compiler(warpgym, tmp_path):
    """The killer is unknown, so the verdict is not cached."""
    lines = batch(tmp_path, SLOW_TO_COMPILE)
    process = start(warpgym, lines, "compile.timeout_ms=10m", "compile.memory_bytes=64GiB")
    kill(wait_until(lambda: compiling(process), "the compiler runs")[0].pid)
    run = warpgym.finish(process)
    first, middle, *others = statuses(run.verdicts)
    assert first == "passed" and others == ["passed", "passed", "wrong"], run
    assert middle in ("compile_error", "infrastructure_error")
    assert run.verdicts[1]["error"]["message"]


def end_of(process, pids):
    """The run is killed, and the processes that it had started end by themselves."""
    assert pids
    os.kill(process.pid, signal.SIGKILL)
    process.wait(timeout=60)
    wait_until(lambda: not any(map(alive, pids)), "its processes end with it", seconds=10)


def test_killed_judge_while_a_candidate_runs(warpgym, tmp_path):
    process = start(warpgym, batch(tmp_path, SPIN), "run.timeout_ms=10m")
    end_of(process, [part.pid for part in parts(process)])


def test_killed_judge_while_it_compiles(warpgym, tmp_path):
    process = start(warpgym, batch(tmp_path, SLOW_TO_COMPILE), "compile.timeout_ms=10m")
    wait_until(lambda: compiling(process), "the compiler runs")
    end_of(process, [part.pid for part in descendants(process.pid)])
    left = list(warpgym.temporary.iterdir())
    assert all(path.name.startswith("warpgym-cc-") for path in left)  # removed by a run a day later
    for path in left:
        shutil.rmtree(path)
    assert warpgym.eval("-p", "softmax", fast("softmax")).status == PASSED


@pytest.mark.parametrize("delay", range(8))
def test_judge_killed_at_any_moment_loses_no_verdict(warpgym, tmp_path, delay):
    """Kills that come earlier or later, by what has been written; a restart completes the file."""
    out = tmp_path / "verdicts.jsonl"
    names = ["relu", "axpy_inplace", "row_sum", "softmax"]
    lines = write_lines(
        tmp_path / "batch.jsonl",
        [
            {"problem": name, "candidate": str(path(name))}
            for name in names
            for path in (fast, wrong)
        ],
    )
    arguments = ("eval", "--quiet", "--no-timing", "--jobs", "2", "--out", out, lines)
    process = warpgym.start(*arguments)

    def enough():
        return process.poll() is not None or (
            out.exists() and out.read_bytes().count(b"\n") >= delay
        )

    wait_until(enough, f"{delay} verdicts are written")
    kill(process.pid)
    process.communicate()
    kept = out.read_bytes().rpartition(b"\n")[0] if out.exists() else b""
    for path in warpgym.temporary.iterdir():
        shutil.rmtree(path)
    assert warpgym(*arguments).status in (SOME_FAILED, PASSED)
    assert out.read_bytes().startswith(kept)
    found = [(v["problem"]["id"], v["status"]) for v in read_lines(out)]
    assert sorted(found) == sorted((n, status) for n in names for status in ("passed", "wrong"))


# --- torch ---------------------------------------------------------------------------------------

ENDLESS = """import ctypes

from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()

    def forward(self, x):
        ctypes.CDLL(None).prctl(15, b"spinning", 0, 0, 0)
        while True:
            pass
"""


@pytest.mark.parametrize("victim", ["server", "candidate"])
def test_killed_part_of_a_torch_run(warpgym, tmp_path, victim):
    if not PYTHON.exists():
        pytest.skip("no Python with PyTorch: `make setup` makes one")
    write(tmp_path / "suites" / "torch" / "square.py", kernelbench_module())
    write(tmp_path / "honest.py", kernelbench_module().replace("Model", "ModelNew"))
    write(tmp_path / "endless.py", ENDLESS)
    lines = write_lines(
        tmp_path / "batch.jsonl",
        [{"problem": "torch/square", "candidate": name} for name in ("endless.py", "honest.py")],
    )
    process = start(warpgym, lines, "run.timeout_ms=2s", "problems.path=suites")

    def found():
        mine = [child for child in children(process.pid) if not child.name.startswith("warpgym")]
        return mine if any(child.name == "spinning" for child in mine) else None

    mine = wait_until(found, "the endless candidate runs")
    kill(mine[0 if victim == "server" else -1].pid)
    run = warpgym.finish(process)
    status = "timeout" if victim == "server" else "runtime_error"
    assert statuses(run.verdicts) == [status, "passed"], run
