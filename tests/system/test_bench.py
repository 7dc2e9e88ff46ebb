"""Scripts of bench that judge a batch: stopped early they report what was judged so far."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys

import pytest
from support import ROOT, TIMEOUT_S, WARPGYM, alive, children, write, wrong

MANY = 1000
QUICK = ["-s", "timing.budget_ms=5ms", "-s", "timing.max_samples=6", "--rounds", str(MANY)]
CONTROL = ROOT / "problems" / "native" / "relu" / "reference.c"
# A script, how it ends, its words for how many each file has, files and what is to be judged.
STOPPED = [
    ("itself.py", 1, "all: {} times", 1, ["relu"]),
    ("attacks.py", 2, "reference.c: {} passed", 2, ["relu", CONTROL, wrong("relu")]),
]


def start(warpgym, script, *arguments, **environment):
    return subprocess.Popen(
        [sys.executable, ROOT / "bench" / script, *arguments],
        env=warpgym.environment | {"TEST_WARPGYM": str(WARPGYM)} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def end_process(process):
    process.send_signal(signal.SIGTERM)


def end_group(process):
    """As timeout(1): the process, then all that it started, and itself once more."""
    process.send_signal(signal.SIGTERM)
    os.killpg(process.pid, signal.SIGTERM)


def interrupt_group(process):
    os.killpg(process.pid, signal.SIGINT)


@pytest.mark.parametrize("end", [end_process, end_group, interrupt_group])
@pytest.mark.parametrize("row", STOPPED, ids=lambda row: row[0])
def test_stopped(warpgym, row, end):
    script, status, summary, files, what = row
    with start(warpgym, script, *what, *QUICK, BENCH_PROGRESS_S="0.1") as process:
        try:
            lines = iter(process.stderr.readline, "")
            assert any(re.match(r"([4-9]|\d\d+) of \d+ judged", line) for line in lines)
            (judge,) = children(process.pid)
            end(process)
            out, err = process.communicate(timeout=TIMEOUT_S)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == status, err
    assert "Traceback" not in err
    count = int(re.search(rf"^cut after (\d+) of {MANY * files}$", out, re.M)[1])
    assert 4 <= count < MANY * files
    assert summary.format(-(-count // files)) in out
    assert not alive(judge.pid)


def test_failed(warpgym, tmp_path):
    """A judge that fails on the way does not take what it had judged with it."""
    judge = write(tmp_path / "judge", f'#!/bin/sh\n{WARPGYM} "$@"\necho it broke >&2\nexit 3\n')
    judge.chmod(0o755)
    process = start(warpgym, "itself.py", "relu", *QUICK, "--rounds", "2", TEST_WARPGYM=str(judge))
    out, err = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 1, err
    assert "all: 2 times" in out and "cut after 2 of 2: it broke\n" in out


def test_itself_goes_on_with_a_file(warpgym, tmp_path):
    kept = tmp_path / "kept.jsonl"
    arguments = [*QUICK, "--rounds", "1", "--keep", str(kept)]
    outs = []
    for names in (["relu"], ["relu", "gemv"], ["relu", "gemv"]):
        process = start(warpgym, "itself.py", *names, *arguments)
        out, err = process.communicate(timeout=TIMEOUT_S)
        assert process.returncode == 0, err
        outs.append(out)
    assert "native: 2 times" in outs[1] and outs[1] == outs[2]
    lines = kept.read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["problem"]["id"] for line in lines] == ["relu", "gemv"]


def test_scripts_use_what_is_there():
    """No test runs every part of them."""
    there = (ROOT / "bench" / "evaluation.py").read_text(encoding="utf-8")
    text = (ROOT / "bench" / "bench.py").read_text(encoding="utf-8")
    used = set(re.findall(r"\bevaluation\.(\w+)\(", text))
    assert used and used == {name for name in used if f"\ndef {name}(" in there}
