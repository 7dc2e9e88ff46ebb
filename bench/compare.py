"""The candidates of tests/gpu before the judges of other projects, each from a checkout of its own.

    bench/compare.py --kernelbench DIR --kernelgym DIR --sol-execbench DIR --kernelbot DIR
    bench/compare.py --kernelbench ~/KernelBench --keep rows.jsonl h04 honest/

Cheats (hacks/) that a judge accepts, those of them that it calls faster than the reference by more
than a fifth, honest candidates (honest/) that it refuses, and seconds for a verdict. Candidates in
Python only, without those that touch this judge's own code. Each judge runs as its project runs it
(bench/others), a process for each candidate, with its own defaults; this one as a batch. Needs a
GPU, and what their packages need beside PyTorch.

With --keep the same command goes on where it stopped. Prints a table in Markdown.
"""

import argparse
import contextlib
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from evaluation import ROOT, evaluate, write_batch

sys.path.append(str(ROOT / "tests" / "gpu"))
import corpus  # noqa: E402

OTHERS = {
    "KernelBench": "kernelbench",
    "KernelGYM": "kernelgym",
    "SOL-ExecBench": "sol_execbench",
    "KernelBot": "kernelbot",
}
OURS = "warpgym"
PAID = 1.2  # of the reference's time, by the judge's own clock
LIMIT_S = 180  # for one verdict of another judge


def chosen(words):
    """Candidates that any judge of PyTorch modules can be given, and their problems' files."""
    found = []
    for one in corpus.candidates(words):
        problem = pathlib.Path(one.problem())
        if not problem.is_file():
            problem = ROOT / "problems" / f"{one.problem()}.py"
        if one.path.suffix == ".py" and "touches" not in one.keys and problem.is_file():
            found.append((one, problem))
    return found


def last_object(text):
    for line in reversed(text.splitlines()):
        with contextlib.suppress(ValueError):
            value = json.loads(line)
            if isinstance(value, dict) and {"correct", "speedup", "why"} == set(value):
                return value
    return None


def end(run):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(run.pid, signal.SIGKILL)


def judged_by(running, judge, checkout, pair, folder):
    """What another judge says, as a row. Its process is in `running` while it runs."""
    one, problem = pair
    candidate = folder / f"{one.path.parent.name}_{one.path.name}"
    candidate.write_text(one.text(), encoding="utf-8")
    script = ROOT / "bench" / "others" / f"{OTHERS[judge]}.py"
    start = time.monotonic()
    with tempfile.TemporaryFile("w+", errors="replace") as said:
        run = subprocess.Popen(
            [sys.executable, script, checkout, problem, candidate],
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**os.environ, "TORCH_EXTENSIONS_DIR": str(folder / "extensions")},
        )
        running.add(run)
        with contextlib.suppress(subprocess.TimeoutExpired):
            run.wait(timeout=LIMIT_S)
        seconds = time.monotonic() - start
        running.discard(run)
        end(run)
        run.wait()
        said.seek(0)
        text = said.read()
    value = last_object(text) or {
        "correct": False,
        "speedup": None,
        "why": f"no verdict after {seconds:.0f} s: {text[-200:]}",
    }
    return {"judge": judge, "candidate": one.name, "seconds": seconds, **value}


def judge_elsewhere(wanted, jobs):
    """Rows, in the order of `wanted`. What interrupts it ends the judges that run."""
    running = set()
    pool = ThreadPoolExecutor(jobs)
    try:
        yield from pool.map(lambda words: judged_by(running, *words), wanted)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for run in list(running):
            end(run)


def judge_here(pairs, folder):
    """Rows of this judge, from one batch, which all of its seconds are shared between."""
    tasks = [(problem, one.path.name, one.text()) for one, problem in pairs]
    batch, paths = write_batch(folder, tasks)
    names = {str(path): one.name for path, (one, _) in zip(paths, pairs, strict=True)}
    start = time.monotonic()
    verdicts = evaluate("--jobs", "1", batch, count=len(pairs))
    seconds = (time.monotonic() - start) / max(1, len(verdicts))
    for verdict in verdicts:
        passed = verdict["status"] == "passed"
        timing = verdict["timing"] or {}
        yield {
            "judge": OURS,
            "candidate": names[verdict["candidate"]["path"]],
            "seconds": seconds,
            "correct": passed,
            "speedup": timing.get("speedup") if passed else None,
            "why": f"{verdict['status']} {(verdict['error'] or {}).get('message', '')}",
        }


def table(rows):
    lines = [
        "| Judge | Cheats accepted | … and called faster | Honest ones refused | Seconds each |",
        "|---|---|---|---|---|",
    ]
    for judge in [OURS, *OTHERS]:
        of = [row for row in rows if row["judge"] == judge]
        if not of:
            continue
        honest = [row for row in of if row["candidate"].startswith("honest/")]
        accepted = [row for row in of if row not in honest and row["correct"]]
        paid = [row for row in accepted if (row["speedup"] or 0) > PAID]
        refused = [row for row in honest if not row["correct"]]
        cheats = len(of) - len(honest)
        seconds = statistics.median(row["seconds"] for row in of)
        lines.append(
            f"| {judge} | {len(accepted)} of {cheats} | {len(paid)} | "
            f"{len(refused)} of {len(honest)} | {seconds:.1f} |"
        )
    return lines


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in OTHERS.values():
        option = f"--{name.replace('_', '-')}"
        parser.add_argument(option, type=pathlib.Path, metavar="DIR", help="its checkout")
    parser.add_argument("--keep", type=pathlib.Path, metavar="FILE", help="rows, as JSON lines")
    parser.add_argument("--jobs", type=int, default=1, help="of the others' verdicts at once")
    parser.add_argument("words", nargs="*", metavar="WORD", help="candidates named so")
    options = parser.parse_args()
    rows = []
    if options.keep and options.keep.exists():
        rows = [json.loads(line) for line in options.keep.read_text("utf-8").splitlines()]
    known = {(row["judge"], row["candidate"]) for row in rows}

    def add(row):
        rows.append(row)
        print(
            f"{row['judge']:<14} {row['candidate']:<40} {row['correct']!s:<5} "
            f"{row['speedup'] or 0:6.2f} {row['seconds']:5.1f} s  {row['why'][:80]!r}",
            flush=True,
        )
        if options.keep:
            with options.keep.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")

    pairs = chosen(options.words)
    with tempfile.TemporaryDirectory(prefix="warpgym-compare-") as name:
        folder = pathlib.Path(name)
        new = [pair for pair in pairs if (OURS, pair[0].name) not in known]
        for row in judge_here(new, folder) if new else ():
            add(row)
        for judge, script in OTHERS.items():
            checkout = getattr(options, script)
            if checkout is None:
                continue
            wanted = [
                (judge, checkout, pair, folder)
                for pair in pairs
                if (judge, pair[0].name) not in known
            ]
            for row in judge_elsewhere(wanted, options.jobs):
                add(row)
    print("\n" + "\n".join(table(rows)))


if __name__ == "__main__":
    main()
