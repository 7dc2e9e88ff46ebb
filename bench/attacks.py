"""Attacks beside an honest control, in turn: do any pass above it?

    bench/attacks.py softmax CONTROL ATTACK…
    bench/attacks.py --rounds 20 --load 10 torch/softmax_rows CONTROL ATTACK

The control does the same work as the attacks claim to do. An attack pays where it passes with a
speedup of more than 1.1 times the upper end of an interval that the control got; the median of
those ends is taken. Prints what became of each file, and exits with 1 if one paid, with 2 if it was
stopped (Ctrl-C, SIGTERM) before all was judged and none of what was had paid.
"""

import argparse
import collections
import pathlib
import statistics
import sys
import tempfile

from evaluation import Cut, busy, evaluate, write_batch

MARGIN = 1.1


def is_timed(verdict):
    return verdict["status"] == "passed" and verdict["timing"]["speedup"] is not None


def report(path, verdicts, least):
    """One row; whether a speedup above `least` was among them."""
    counts = collections.Counter(verdict["status"] for verdict in verdicts)
    timings = [verdict["timing"] for verdict in verdicts if is_timed(verdict)]
    row = f"{path.name}: " + ", ".join(f"{n} {status}" for status, n in counts.most_common())
    if timings:
        speedups = [timing["speedup"] for timing in timings]
        low = max(timing["speedup_interval"][0] for timing in timings)
        known = [timing["speedup"] for timing in timings if timing["meaningful"]]
        row += f"; speedup {statistics.median(speedups):.3g}, at most {max(speedups):.3g}"
        row += f" (lower ends at most {low:.3g}); meaningful {len(known)}"
        row += f", at most {max(known):.3g}" if known else ""
    seconds = statistics.median(sum(v["stages_ms"].values()) for v in verdicts) / 1e3
    codes = collections.Counter(c["code"] for v in verdicts for c in v["integrity"]["violations"])
    row += f"; {seconds:.1f} s each"
    row += "".join(f", {code} {n} times" for code, n in codes.most_common())
    above = sum(timing["speedup"] > least for timing in timings)
    print(row + (f"; ABOVE {least:.3g}: {above}" if above else ""), flush=True)
    return above > 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("problem")
    parser.add_argument("control", type=pathlib.Path)
    parser.add_argument("attacks", nargs="+", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--load", type=int, default=0, help="busy processes beside")
    parser.add_argument("-s", dest="settings", action="append", default=[], metavar="NAME=VALUE")
    options = parser.parse_args()
    files = [options.control, *options.attacks]
    problem = pathlib.Path(options.problem)
    problem = problem.resolve() if problem.suffix == ".py" else options.problem
    tasks = [(problem, path.name, path.read_text(encoding="utf-8")) for path in files]
    with busy(options.load), tempfile.TemporaryDirectory(prefix="warpgym-attacks-") as folder:
        batch, _ = write_batch(pathlib.Path(folder), tasks * options.rounds)
        count = len(tasks) * options.rounds
        try:
            every, cut = evaluate("--jobs", 1, batch, settings=options.settings, count=count), None
        except Cut as stopped:
            every, cut = stopped.verdicts, stopped
            print(cut)
    verdicts = {path: every[at :: len(files)] for at, path in enumerate(files)}
    timed = [verdict["timing"] for verdict in verdicts[options.control] if is_timed(verdict)]
    if not timed:
        sys.exit(f"{options.control}: the control never passed")
    least = MARGIN * statistics.median(timing["speedup_interval"][1] for timing in timed)
    report(options.control, verdicts[options.control], float("inf"))
    paid = [report(path, verdicts[path], least) for path in options.attacks if verdicts[path]]
    sys.exit(1 if any(paid) else 2 if cut else 0)


if __name__ == "__main__":
    main()
