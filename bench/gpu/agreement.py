"""The judge's times against those of event benchmarks in processes of their own (table.py).

Native problems by bench/handwritten_gpu.c, which must have been built before (`make bench-gpu`) and
is found in BENCH_HANDWRITTEN_GPU or under build/; PyTorch's by events.py. Both repeat thrice: the
judge within one `warpgym eval`, the benchmarks once before it and twice after it.
"""

import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
NATIVE = ("relu", "softmax", "transpose", "layer_norm", "row_sum", "gemm")
TORCH = (
    "relu_4096x16384.py",
    "softmax_4096x16384.py",
    "layer_norm_8192x16384.py",
    "matmul_4096.py",
    "matmul_8192.py",
    "bmm_5x8192x4096.py",
)
REPEATS = 3
ROUNDS = "200"
TIMEOUT_S = 120
NEAR_PERCENT, NEAR_US = 2, 1  # one of the two will do
STEADY_PERCENT, STEADY_FROM_US = 1, 10


class Unable(Exception):
    """Something that this needs is not here."""


def handwritten():
    place = os.environ.get("BENCH_HANDWRITTEN_GPU", ROOT / "build/bench/handwritten_gpu")
    path = pathlib.Path(place).resolve()
    if not path.is_file():
        raise Unable(f"{path} is missing: run `make bench-gpu`, or name it in "
                     "BENCH_HANDWRITTEN_GPU")
    return path


def build(folder):
    """All references at once, as the judge compiles them."""
    nvcc = os.environ.get("WARPGYM_NVCC", "nvcc")
    options = ["-O3", "-arch=native", "-shared", "-Xcompiler=-fPIC"]
    running = []
    for name in NATIVE:
        source = ROOT / "problems/native" / name / "reference.cu"
        command = [nvcc, *options, str(source), "-o", str(folder / f"{name}.so")]
        try:
            running.append(subprocess.Popen(command))
        except OSError as error:
            raise Unable(f"{nvcc} cannot be started: {error.strerror}") from None
    if any([process.wait(TIMEOUT_S) for process in running]):
        raise Unable("nvcc failed")


def lines_of(command, count):
    """Medians in us, the first figure of each of so many lines; None: that one failed."""
    words = [str(word) for word in command]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, timeout=TIMEOUT_S, check=False)
    if done.returncode != 0:
        print(f"{' '.join(words[:3])} failed with status {done.returncode}", file=sys.stderr)
    found = [float(line.split()[0]) * 1e3 for line in done.stdout.splitlines()]
    return found + [None] * (count - len(found))


def benchmarks(program, folder):
    """Medians in us, once each, in the order of NATIVE and TORCH."""
    found = []
    for name in NATIVE:
        problem = ROOT / "problems/native" / name
        found += lines_of([program, problem, folder / f"{name}.so", ROUNDS], 1)
    script = [sys.executable, HERE / "events.py"]
    return found + lines_of(script + [HERE / "problems" / name for name in TORCH], len(TORCH))


def tasks():
    """Each reference as its own candidate."""
    found = []
    for name in NATIVE:
        text = (ROOT / "problems/native" / name / "reference.cu").read_text(encoding="utf-8")
        found += [(name, "same.cu", text)] * REPEATS
    for name in TORCH:
        text = (HERE / "problems" / name).read_text(encoding="utf-8")
        text = text.replace("class Model(", "class ModelNew(")
        found += [(name, "same.py", text)] * REPEATS
    return found


def spread_percent(values):
    return (max(values) - min(values)) / statistics.median(values) * 100


def compare(ours, theirs):
    """(difference in %, in us, near enough, repeats well enough; None: too short for that bar)"""
    mine, hand = statistics.median(ours), statistics.median(theirs)
    percent, off_us = (mine / hand - 1) * 100, mine - hand
    near = abs(percent) <= NEAR_PERCENT or abs(off_us) <= NEAR_US
    steady = spread_percent(ours) <= STEADY_PERCENT if mine > STEADY_FROM_US else None
    return percent, off_us, near, steady


def column(values):
    return f"{statistics.median(values):11.2f} ({spread_percent(values):4.1f} %)"


def medians_us(verdicts, process):
    return [verdict["timing"][process]["median"] * 1e3 for verdict in verdicts]


def failures(verdicts, theirs):
    """What keeps these from being compared."""
    found = ["no event benchmark: see above"] if None in theirs else []
    for verdict in verdicts:
        if verdict["status"] != "passed" or not verdict["timing"]:
            error = verdict["error"] or {"message": verdict["integrity"]["violations"]}
            found.append(f"{verdict['status']}: {str(error['message'])[:200]}")
    return found


def report(verdicts, rounds):
    """Prints a line for each kernel and the counts; `rounds`: of the benchmarks, us."""
    near_count, steady = 0, []
    names = NATIVE + TORCH
    print(f"{'':28}{'judge, us (spread)':>20}{'its reference':>20}{'events':>20}   difference")
    for index, name in enumerate(names):
        mine = verdicts[index * REPEATS : (index + 1) * REPEATS]
        title = name.removesuffix(".py")
        theirs = [line[index] for line in rounds]
        reasons = failures(mine, theirs)
        if reasons:
            print(f"{title:28}{reasons[0]}")
            continue
        ours = medians_us(mine, "candidate")
        percent, off_us, near, repeats = compare(ours, theirs)
        near_count += near
        steady += [repeats] if repeats is not None else []
        words = ("" if near else "  too far") + ("  unsteady" if repeats is False else "")
        print(f"{title:28}{column(ours)}{column(medians_us(mine, 'reference'))}{column(theirs)}   "
              f"{percent:+6.2f} % {off_us:+9.2f} us{words}")
    print(f"{near_count} of {len(names)} within {NEAR_PERCENT} % or {NEAR_US} us; "
          f"{sum(steady)} of {len(steady)} above {STEADY_FROM_US} us repeat within "
          f"{STEADY_PERCENT} %")


def agreement(judged):
    """`judged` as in table.py."""
    start = time.monotonic()
    try:
        program = handwritten()
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            build(folder)
            rounds = [benchmarks(program, folder)]
            verdicts, judge_s = judged(folder, tasks())
            rounds += [benchmarks(program, folder) for _ in range(REPEATS - 1)]
    except Unable as reason:
        sys.exit(f"agreement: {reason}")
    report(verdicts, rounds)
    print(f"{time.monotonic() - start:.0f} s, {judge_s:.0f} of them the judge's")
