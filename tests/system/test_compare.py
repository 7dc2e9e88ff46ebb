"""bench/compare.py: rows of this judge and of another's, a table of them, and going on."""

import json
import os
import subprocess
import sys
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
    return subprocess.run(
        [sys.executable, ROOT / "bench" / "compare.py", "--keep", tmp_path / "rows.jsonl", *words],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )


def test_another_judge_beside_this_one(tmp_path):
    program = tmp_path / "problems" / "pmpp_v2"
    program.mkdir(parents=True)
    (program / "eval.py").write_text(NO_GPU + ACCEPTS, encoding="utf-8")
    (program / "utils.py").write_text(UTILS, encoding="utf-8")
    words = ("--kernelbot", tmp_path, "hacks/h04_by_few_bits", "hacks/h40_kernel_on_nothing")
    done = compare(tmp_path, *words)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text("utf-8").splitlines()]
    found = {(row["judge"], row["candidate"]): row for row in rows}
    assert len(rows) == len(found) == 4
    assert not found["warpgym", "hacks/h04_by_few_bits"]["correct"]
    accepted = found["KernelBot", "hacks/h04_by_few_bits"]
    assert accepted["correct"] and accepted["speedup"] == 2
    # A kernel in Triton has nothing to run on here: the program ends without a word.
    refused = found["KernelBot", "hacks/h40_kernel_on_nothing"]
    assert not refused["correct"] and refused["why"] == "no result"
    lines = done.stdout.splitlines()
    assert any(line.startswith("| warpgym | 0 of 2 | 0 | 0 of 0 |") for line in lines)
    assert any(line.startswith("| KernelBot | 1 of 2 | 1 | 0 of 0 |") for line in lines)

    again = compare(tmp_path, *words)
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "rows.jsonl").read_text("utf-8").count("\n") == len(rows)
    assert again.stdout.splitlines()[-3:] == lines[-3:]
