"""bench/gpu/run agreement, as far as it goes without a GPU: both event benchmarks measure what they
say, on stand-ins for the driver and for PyTorch's events, and the table counts by its bars."""

import importlib.util
import itertools
import os
import re
import subprocess
import sys

import pytest
from fake_gpu import DRIVEN, make_problem
from support import CHECKOUT, PYTHON, ROOT, TIMEOUT_S, captured, write

HANDWRITTEN = CHECKOUT / "build" / "bench" / "handwritten_gpu"
BENCH = ROOT / "bench" / "gpu"

YAML = """name: double
summary: Twice each element, where it lies.
signature: void solution(float *x, size_t n)
arguments:
  x: {role: inout, type: f32, shape: [n], fill: normal}
  n: {role: size}
tolerance: {relative: 1.0e-6, scale: rms}
check: [{n: 1}, {n: 1000}]
time: [{n: 1000}]
work: {flops: n, bytes: 8*n}
"""

# Each set of arguments has an address of its own and inputs of its own, which are the same every
# time although each call changes them. The first look, at one set, is let pass.
WITNESS = """#include <stdlib.h>
static const float *seen[128];
static float values[128];
static int sets, calls;
static void check(const float *x)
{
    int set = 0;
    while (set < sets && seen[set] != x)
        set++;
    if (set == 128 || (set < sets && values[set] != x[0]))
        abort();
    if (set < sets)
        return;
    for (int i = 0; i < sets; i++)
        if (values[i] == x[0])
            abort();
    seen[sets] = x;
    values[sets++] = x[0];
}
extern "C" void solution(float *x, size_t n)
{
    if (++calls > FIRST_LOOK)
        check(x);
    for (size_t i = 0; i < n; i++)
        x[i] *= 2;
}
"""


def load(name):
    spec = importlib.util.spec_from_file_location(name, BENCH / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def handwritten(folder, source):
    folder = make_problem(folder / "double", YAML, "void solution(float *x, size_t n);")
    text = write(folder / "solution.cc", source)
    built = folder / "solution.so"
    subprocess.run(["g++", "-O1", "-fPIC", "-shared", "-o", built, text], check=True,
                   timeout=TIMEOUT_S)
    (folder / "libcuda.so.1").symlink_to(DRIVEN["WARPGYM_GPU_DRIVER"])
    return captured(
        [HANDWRITTEN, folder, built, "5"], env={**os.environ, "LD_LIBRARY_PATH": str(folder)}
    )


def test_handwritten_has_the_judges_inputs(tmp_path):
    text = (ROOT / "bench" / "handwritten_gpu.c").read_text(encoding="utf-8")
    first_look = re.search(r"#define FIRST_LOOK (\d+)", text).group(1)
    done = handwritten(tmp_path, WITNESS.replace("FIRST_LOOK", first_look))
    assert done.returncode == 0, done
    median, low, high, sets = done.stdout.split()
    assert 0 < float(low) <= float(median) <= float(high)
    assert 1 < int(sets) <= 128


def test_handwritten_notices_a_kernel_that_never_ran(tmp_path):
    done = handwritten(tmp_path, 'extern "C" void solution(float *, unsigned long) {}')
    assert done.returncode == 2
    assert "wrote nothing" in done.stderr


@pytest.mark.parametrize("arguments", [[], ["."], [".", "none.so", "many"], [".", "none.so", "-1"]])
def test_handwritten_says_how(arguments):
    done = captured([HANDWRITTEN, *arguments])
    assert done.returncode == 2
    assert "PROBLEM_DIRECTORY SHARED_OBJECT ROUNDS" in done.stderr


EVENTS_CHECK = """
import sys, types
sys.path.insert(0, sys.argv[1])
import torch, events

CALL_MS = 0.25
now_ms = 0  # only calls take time

class Event:
    def __init__(self, enable_timing):
        assert enable_timing
    def record(self):
        self.ms = now_ms
    def elapsed_time(self, later):
        return later.ms - self.ms

events.time = types.SimpleNamespace(monotonic=lambda: now_ms / 1e3)
torch.cuda.Event = Event
torch.cuda.synchronize = lambda: None
events.DEVICE = "cpu"
events.WARM_UP_S = 0
assert events.sets_for(0.001, 1000, 1) == 128
assert events.sets_for(0.5, 1000, 1) == 8
assert events.sets_for(0.001, 10**9, 1) == 4
assert events.sets_for(0.001, 1000, 3) == 42
assert events.sets_for(70, 10**10, 200) == 1

calls = []
class Model(torch.nn.Module):
    def forward(self, x, factor):
        global now_ms
        now_ms += CALL_MS
        calls.append((x.data_ptr(), x[0].item()))
        return x.mul_(factor)

module = types.SimpleNamespace(
    Model=Model, get_inputs=lambda: [torch.rand(100) + 1, 2], get_init_inputs=lambda: [])
benchmark = events.Benchmark(module)
sets = len(benchmark.sets)
assert sets == events.SETS_MS / CALL_MS, sets
calls.clear()
times = benchmark.measure()
assert times == [CALL_MS] * events.ROUNDS, times
assert len(calls) == sets * len(times)
assert len({place for place, _ in calls}) == sets
assert len({value for _, value in calls}) > len(calls) * 0.99
assert all(1 <= value < 2 for _, value in calls)
"""


def test_events_have_fresh_inputs_for_every_call():
    done = captured([PYTHON, "-c", EVENTS_CHECK, BENCH])
    assert done.returncode == 0, done.stderr


def test_events_need_a_gpu():
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    for arguments, says in ([], "PROBLEM.py"), (["none.py"], "no GPU"):
        done = captured([PYTHON, BENCH / "events.py", *arguments], env=environment)
        assert done.returncode == 1 and says in done.stderr, done


@pytest.mark.parametrize(
    ("ours", "theirs", "near", "steady"),
    [
        ([6.0, 6.9, 5.9], [5.1, 5.1, 5.1], True, None),  # 18 %, and 0.9 us
        ([7.0, 7.0, 7.0], [5.9, 5.9, 5.9], False, None),
        ([101.9, 102, 101.5], [100, 100, 100], True, True),
        ([102.1, 103, 102], [100, 99, 100], False, True),
        ([97.0, 97, 97], [100, 100, 100], False, True),
        ([100.0, 101.2, 100], [100, 100, 100], True, False),
    ],
)
def test_bars(ours, theirs, near, steady):
    *_, found_near, found_steady = load("agreement").compare(ours, theirs)
    assert (found_near, found_steady) == (near, steady)


def verdict(us, status="passed"):
    times = {"median": us / 1e3}
    return {"status": status, "error": {"message": "it crashed"},
            "timing": {"candidate": times, "reference": times}}


def test_report_counts(capsys):
    agreement = load("agreement")
    names = agreement.NATIVE + agreement.TORCH
    assert len(names) == 12
    medians = [5.0, 6.0, *itertools.repeat(200.0, 10)]
    verdicts = [verdict(us) for us in medians for _ in range(3)]
    verdicts[-1]["status"] = "runtime_error"  # the last kernel's third evaluation
    verdicts[6] = verdict(204)  # the third kernel's first
    rounds = [[8.0, *medians[1:]] for _ in range(3)]  # 3 us off
    rounds[2][4] = None  # the fifth kernel's benchmark failed once
    agreement.report(verdicts, rounds)
    lines = capsys.readouterr().out.splitlines()
    assert "too far" in lines[1] and "too far" not in lines[2]
    assert "unsteady" in lines[3]
    assert "runtime_error: it crashed" in lines[12]
    assert "no event benchmark" in lines[5]
    assert lines[13] == "9 of 12 within 2 % or 1 us; 7 of 8 above 10 us repeat within 1 %"


def test_a_benchmark_that_fails_costs_its_own_figures(capfd):
    agreement = load("agreement")
    shell = ["/bin/sh", "-c"]
    assert agreement.lines_of([*shell, "echo 0.5 1 1 8; echo 2 2 2 8"], 2) == [500, 2000]
    assert agreement.lines_of([*shell, "echo 0.5 1 1 8; exit 3"], 2) == [500, None]
    assert "status 3" in capfd.readouterr().err


def test_tasks_name_existing_files():
    agreement = load("agreement")
    for problem, _, text in agreement.tasks():
        assert "solution(" in text or "class ModelNew(" in text
        if problem.endswith(".py"):
            assert (BENCH / "problems" / problem).is_file()


@pytest.mark.parametrize(
    ("part", "says"),
    [("nonsense", "there is no part nonsense"), ("agreement", "run `make bench-gpu`")],
)
def test_run_names_missing_parts(part, says):
    environment = {**os.environ, "BENCH_HANDWRITTEN_GPU": "/nowhere/at/all",
                   "WARPGYM_PYTHON": sys.executable}
    done = captured([BENCH / "run", part], env=environment)
    assert done.returncode == 1 and says in done.stderr, done


# In place of warpgym: verdicts in another order than the batch's, as many as there are to be.
STAND_IN = """#!/usr/bin/env python3
import json, os, sys
count, status = map(int, os.environ["STAND_IN"].split())
lines = [json.loads(line) for line in open(sys.argv[-1])]
for line in lines[::-1][:count]:
    print(json.dumps({"candidate": {"path": line["candidate"]}, "status": "passed", "error": None,
                      "integrity": {"violations": []}, "stages_ms": {"compile": 1.0}}))
print("GPU 0 was in use for 1.5 s", file=sys.stderr)
sys.exit(status)
"""


@pytest.mark.parametrize(
    ("stand_in", "returned", "says"),
    [
        ("1000 1", 0, "200 candidates, "),
        ("1000 3", 0, "200 candidates, "),  # all of them judged, if some not as they deserve
        ("90 2", 1, "cut after 90 of 200: GPU 0 was in use"),
    ],
)
def test_mixed(tmp_path, stand_in, returned, says):
    """What is not all of it is no figure."""
    program = write(tmp_path / "warpgym", STAND_IN)
    program.chmod(0o755)
    environment = {**os.environ, "TEST_WARPGYM": str(program), "STAND_IN": stand_in,
                   "WARPGYM_PYTHON": sys.executable}
    done = captured([BENCH / "run", "mixed"], env=environment)
    assert done.returncode == returned, done
    assert says in done.stdout + done.stderr, done
    assert ("1.5 s, " in done.stdout) == (returned == 0)
    assert ("not wrong: triton_wrong is passed" in done.stdout) == (returned == 0)
