"""Candidates that do the work of all calls of an interval at once (catalogue H06), as their launch
trace shows them. The driver and the CUPTI are tests/fake's: kernels are host code, and what a
candidate says that it launched is what the trace has."""

import pytest
from fake_gpu import BUILT, DRIVEN, make_problem
from support import PASSED, ROOT, SOME_FAILED, write, write_lines

YAML = """name: double
summary: Twice each element.
signature: void solution(const float *x, float *y, size_t n)
arguments:
  x: {role: in, type: f32, shape: [n], fill: normal}
  y: {role: out, type: f32, shape: [n]}
  n: {role: size}
tolerance: {relative: 1.0e-6, scale: rms}
check: [{n: 1000}]
time: [{n: 60000}, {n: 50000}]
work: {flops: n, bytes: 8*n}
"""

REFERENCE = """#include <stddef.h>
%s void solution(const float *x, float *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = 2 * x[i];
}
"""

# It learns where the slots lie. `place` is a slot's among them; -1: it was not known.
CANDIDATE = """#include <stddef.h>
#include <stdint.h>
#include <time.h>

extern "C" void fake_cuda_launched(uint32_t graph_nodes, uint32_t us);
extern "C" int fake_cuda_traced(void);
static const float *slots[512];
static size_t known, size;
static uint32_t took_us; /* computing, last time */

static int slot_of(const float *x, size_t n)
{
    if (n != size)
        known = 0;
    size = n;
    for (size_t i = 0; i < known; i++)
        if (slots[i] == x)
            return (int)i;
    if (known > 1 && x - slots[known - 1] != slots[1] - slots[0])
        known = 0;
    slots[known++] = x;
    return -1;
}

static uint32_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint32_t)(now.tv_sec * 1000000 + now.tv_nsec / 1000);
}

static void spin(uint32_t us)
{
    for (uint32_t start_us = now_us(); now_us() - start_us < us;)
        ;
}

static void compute(const float *x, float *y, size_t n, size_t count)
{
    uint32_t start_us = now_us();
    ptrdiff_t step = known > 1 ? slots[1] - slots[0] : 0;
    for (size_t slot = 0; slot < count; slot++, x += step, y += step)
        for (size_t i = 0; i < n; i++)
            y[i] = 2 * x[i];
    took_us = now_us() - start_us;
}

extern "C" void solution(const float *x, float *y, size_t n)
{
    int place = n > 10000 ? slot_of(x, n) : -1;
    uint32_t all = place == 0 ? known : 1;
    %s
}
"""

OWN = "compute(x, y, n, 1); "
LAUNCH = "fake_cuda_launched(1, 5);"
# For all calls at once, but only while launches are traced: a candidate that always does so writes
# outputs of calls that are never made (timing.c's stop_short).
ALL = "if (!fake_cuda_traced()) compute(x, y, n, 1); else if (place <= 0) compute(x, y, n, all); "
SILENT = "calls were answered by 1 launches: some started nothing"
LONG = "it did the work of several"

# What a call does, by the name of the candidate, and why that is a violation.
CALLS = {
    "each its own": (OWN + LAUNCH, None),
    "each two kernels": (OWN + "fake_cuda_launched(1, 5); fake_cuda_launched(1, 9);", None),
    "each a graph": (OWN + "fake_cuda_launched(7, 3);", None),
    "nothing": (OWN, None),
    "slower together": (OWN + "fake_cuda_launched(1, known > 1 ? 300 : 5);", None),
    "slower at times": (OWN + "fake_cuda_launched(1, place % 4 == 1 ? 25 : 9);", None),
    "slow once": (
        OWN + "static int passes; passes += place <= 0 && fake_cuda_traced(); "
        "fake_cuda_launched(1, place == 0 && passes == 2 ? 9000 : 5);",
        None,
    ),
    "more than is recorded": (OWN + "fake_cuda_launched(9000, 0);", None),
    "once for all": (ALL + "if (place <= 0) fake_cuda_launched(1, all);", SILENT),
    "one graph for all": (ALL + "if (place <= 0) fake_cuda_launched(all, 1);", SILENT),
    "one size only": (
        "if (n == 50000) compute(x, y, n, 1); else { " + ALL + "} "
        + "if (place <= 0 || n == 50000) fake_cuda_launched(1, 1);",
        SILENT,
    ),
    "trifles for the others": (ALL + "fake_cuda_launched(1, place <= 0 ? took_us : 1);", LONG),
    "a graph and trifles": (
        ALL + "fake_cuda_launched(place <= 0 ? 9 : 1, place <= 0 ? took_us / 9 : 1);",
        LONG,
    ),
}  # fmt: skip

# The first call that is traced is alone. What a call does when it is traced; whether that says H26.
NINE = "for (int i = 0; i < 9; i++) fake_cuda_launched(1, 20); spin(300);"
TRACED = {
    "slow when alone": ("passes++; if (passes == 1) { " + NINE + " } else " + LAUNCH, False),
    "slow whenever traced": (NINE, True),
}

# This call's and the next one's: of an odd number of slots, the last is alone.
PAIR = "compute(x, y, n, place >= 0 && (size_t)place + 1 < known ? 2 : 1);"

# They write outputs of calls that are not made yet.
AHEAD = {
    "all at once": "if (place <= 0) compute(x, y, n, all);",
    "two at once": "if (place < 0 || place % 2 == 0) " + PAIR,
    "the next one": PAIR,
}


@pytest.fixture(scope="module")
def toolkit(tmp_path_factory):
    """A compiler with a CUPTI beside it, as NVIDIA installs them."""
    folder = tmp_path_factory.mktemp("toolkit")
    nvcc = write(folder / "bin" / "nvcc", f'#!/bin/sh\nexec {ROOT}/tests/fake/nvcc "$@"\n')
    nvcc.chmod(0o755)
    write(folder / "lib64" / "libcupti.so.13", (BUILT / "cupti.so").read_bytes())
    return DRIVEN | {"WARPGYM_NVCC": str(nvcc)}


@pytest.fixture(scope="module")
def verdicts(module_warpgym, toolkit, tmp_path_factory):
    folder = tmp_path_factory.mktemp("problems") / "double"
    make_problem(folder, YAML, REFERENCE % "", REFERENCE % 'extern "C"')
    lines = {name: line for name, (line, _) in CALLS.items()} | AHEAD
    lines |= {
        name: OWN + "static int passes; if (fake_cuda_traced()) { " + line + " } (void)passes;"
        for name, (line, _) in TRACED.items()
    }
    batch = write_lines(
        folder / "batch.jsonl",
        [
            {"problem": str(folder), "source": CANDIDATE % line, "name": f"{name}.cu"}
            for name, line in lines.items()
        ],
    )
    run = module_warpgym("eval", "--json", "--jobs", "1", batch, environment=toolkit)
    assert run.status in (PASSED, SOME_FAILED), run
    return dict(zip(lines, run.verdicts, strict=True))


@pytest.mark.parametrize("name", AHEAD)
def test_outputs_written_before_the_call_are_refused(verdicts, name):
    verdict = verdicts[name]
    assert verdict["status"] == "violation", verdict
    (found,) = verdict["integrity"]["violations"]
    assert found["code"] == "H06", found
    assert "calls were made, and it wrote the output of number" in found["evidence"], found


@pytest.mark.parametrize("name", CALLS)
def test_calls_do_their_own_work(verdicts, name):
    words = CALLS[name][1]
    verdict = verdicts[name]
    found = verdict["integrity"]["violations"]
    assert verdict["status"] == ("violation" if words else "passed"), verdict
    assert [finding["code"] for finding in found] == (["H06"] if words else []), verdict
    assert not words or words in found[0]["evidence"], found
    assert verdict["profile"]["launches"] > 0, verdict["profile"]


@pytest.mark.parametrize("name", TRACED)
def test_kernels_that_run_longer_when_traced(verdicts, name):
    """In an interval like those that were timed; a call alone finds nothing in the caches."""
    verdict = verdicts[name]
    assert verdict["status"] == "passed", verdict
    assert verdict["profile"]["time_us"] > 180, "of the call that was alone"
    warnings = [one["code"] for one in verdict["integrity"]["warnings"]]
    assert ("H26" in warnings) == TRACED[name][1], verdict["integrity"]
