"""bench/compare.py: rows of this judge and of another's, a table of them, and going on."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# KernelBot's program in a few words: it accepts whatever runs, and calls what is not the reference
# twice as fast.
ACCEPTS = """
import os
import torch
from submission import custom_kernel
import reference

data = reference.problem.get_inputs()
custom_kernel(data)
slow = "import Model" in open("submission.py").read()
with os.fdopen(int(os.environ["POPCORN_FD"]), "w") as out:
    print(f"benchmark.0.mean: {20 if slow else 10}\\ncheck: pass", file=out)
"""
NO_GPU = "import torch\ntorch.nn.Module.cuda = lambda module: module\n"
UTILS = "def make_match_reference(*_, **__):\n    return None\n"


def compare(tmp_path, *words):
    return subprocess.Popen(
        [sys.executable, ROOT / "bench" / "compare.py", "--keep", tmp_path / "rows.jsonl", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )


def kernelbot(tmp_path, text):
    program = tmp_path / "problems" / "pmpp_v2"
    program.mkdir(parents=True)
    (program / "eval.py").write_text(NO_GPU + text, encoding="utf-8")
    (program / "utils.py").write_text(UTILS, encoding="utf-8")


def test_another_judge_beside_this_one(tmp_path):
    kernelbot(tmp_path, ACCEPTS)
    words = ("--kernelbot", tmp_path, "hacks/h04_by_few_bits", "hacks/h40_kernel_on_nothing")
    with compare(tmp_path, *words) as run:
        said, complaint = run.communicate(timeout=280)
    assert run.returncode == 0, complaint
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text("utf-8").splitlines()]
    found = {(row["judge"], row["candidate"]): row for row in rows}
    assert len(rows) == len(found) == 4
    assert not found["warpgym", "hacks/h04_by_few_bits"]["correct"]
    accepted = found["KernelBot", "hacks/h04_by_few_bits"]
    assert accepted["correct"] and accepted["speedup"] == 2
    # A kernel in Triton has nothing to run on here: the program ends without a word.
    refused = found["KernelBot", "hacks/h40_kernel_on_nothing"]
    assert not refused["correct"] and refused["why"] == "no result"
    lines = said.splitlines()
    assert any(line.startswith("| warpgym | 0 of 2 | 0 | 0 of 0 |") for line in lines)
    assert any(line.startswith("| KernelBot | 1 of 2 | 1 | 0 of 0 |") for line in lines)

    with compare(tmp_path, *words) as again:
        later, complaint = again.communicate(timeout=280)
    assert again.returncode == 0, complaint
    assert (tmp_path / "rows.jsonl").read_text("utf-8").count("\n") == len(rows)
    assert later.splitlines()[-3:] == lines[-3:]


def test_what_interrupts_it_ends_the_judges(tmp_path):
    kernelbot(tmp_path, f"""
import os, time
open({str(tmp_path / "running")!r}, "w").write(str(os.getpid()))
time.sleep(3600)
""")
    names = ("hacks/h04_by_few_bits", "hacks/h40_kernel_on_nothing")
    row = {"judge": "warpgym", "seconds": 1, "correct": False, "speedup": None, "why": ""}
    rows = "".join(json.dumps({**row, "candidate": name}) + "\n" for name in names)
    (tmp_path / "rows.jsonl").write_text(rows, encoding="utf-8")
    with compare(tmp_path, "--kernelbot", tmp_path, *names) as run:
        end = time.monotonic() + 120
        while not (tmp_path / "running").exists() or not (tmp_path / "running").read_text():
            assert run.poll() is None and time.monotonic() < end
            time.sleep(0.1)
        run.send_signal(signal.SIGINT)
        _, complaint = run.communicate(timeout=120)
    assert run.returncode != 0 and "KeyboardInterrupt" in complaint
    pid = int((tmp_path / "running").read_text())
    state = Path(f"/proc/{pid}/stat")
    assert not state.exists() or state.read_text().rsplit(")", 1)[1].split()[0] == "Z"
    assert (tmp_path / "rows.jsonl").read_text(encoding="utf-8") == rows
