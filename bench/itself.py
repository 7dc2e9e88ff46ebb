"""References judged against themselves, and against twice their work: is the speedup 1, and 0.5?

    bench/itself.py                     all problems of problems/, three times each
    bench/itself.py --twice             candidates that do a reference's work twice
    bench/itself.py --load 8            beside eight busy processes
    bench/itself.py --jobs 4 -s run.threads=1 relu torch/matmul bench/gpu/problems/matmul_4096.py
    bench/itself.py --rounds 1 --keep kb.jsonl KernelBench/level1/*.py     goes on where it stopped

A native reference is judged as its own text, a PyTorch one with Model renamed to ModelNew. With
--gpu native problems without a CUDA reference are left out. Prints each evaluation whose interval
misses the truth, and a summary. Where it is stopped (Ctrl-C, SIGTERM) that is of what was judged so
far, and it exits with 1. A reference's second pass finds its data in caches, so --twice keeps to
problems that compute much for each byte, unless others are named.
"""

import argparse
import json
import pathlib
import re
import statistics
import sys
import tempfile

from evaluation import ROOT, Cut, busy, evaluate, verdicts_of, write_batch

NATIVE, TORCH = ROOT / "problems" / "native", ROOT / "problems" / "torch"
NEAR = 0.03

# Work for each byte is much here, and a second pass does not change the outputs.
COMPUTE = """
attention avg_pool2d batched_gemm conv1d conv2d cross_entropy cumsum gelu_tanh gemm gemm_f16 gemm_i8
gemm_nt gemm_tn layer_norm log_sum_exp max_pool2d rms_norm row_max_argmax row_sum silu_mul softmax
sort top_k transpose triangular_gemm variance
"""

TWICE_C = """
{signature}
{{
    for (int pass = 0; pass < 2; pass++) {{
        once({arguments});
        __asm__ volatile("" ::: "memory");
    }}
}}
"""
TWICE_PY = """

class ModelNew(Model):
    def forward(self, *inputs):
        super().forward(*inputs)
        return super().forward(*inputs)
"""


def problems(gpu, names):
    for path in sorted(NATIVE.glob("*/reference.c")):
        source = path.with_suffix(".cu") if gpu else path
        if source.exists():
            yield path.parent.name, source
    for path in sorted(TORCH.glob("*.py")):
        yield f"torch/{path.stem}", path
    for name in names:
        if name.endswith(".py"):
            yield name, pathlib.Path(name).resolve()


def twice_c(text):
    """The same function under another name, called twice."""
    signature = re.search(r'(?:extern "C" )?void solution\(([^)]*)\)', text)
    names = [re.search(r"(\w+)(?:\[\])?$", part.strip())[1] for part in signature[1].split(",")]
    shell = {"signature": signature[0], "arguments": ", ".join(names)}
    once = f"static __attribute__((noinline)) void once({signature[1]})"
    return text.replace(signature[0], once) + TWICE_C.format(**shell)


def candidate(path, twice):
    text = path.read_text(encoding="utf-8")
    if twice:
        return text + TWICE_PY if path.suffix == ".py" else twice_c(text)
    return re.sub(r"\bModel\b", "ModelNew", text)


def file_name(path):
    return f"{path.parent.name}-{path.name}"


def judge(folder, names, options):
    tasks = [
        (path if name.endswith(".py") else name, file_name(path), candidate(path, options.twice))
        for name, path in names
    ]
    batch, _ = write_batch(folder, tasks)
    return evaluate("--jobs", options.jobs, batch, settings=options.settings, count=len(tasks))


def judge_rest(folder, names, options):
    """The verdicts that the file has, and those of all other problems, which it gets. A machine's
    failure is no verdict."""
    kept = []
    if options.keep.exists():
        known = verdicts_of(options.keep.read_text(encoding="utf-8"))
        kept = [verdict for verdict in known if verdict["status"] != "infrastructure_error"]
    done = {pathlib.Path(v["candidate"]["path"]).name.partition("_")[2] for v in kept}
    rest = [(name, path) for name, path in names if file_name(path) not in done]
    cut = None
    try:
        new = judge(folder, rest, options) if rest else []
    except Cut as stopped:
        new, cut = stopped.verdicts, stopped
    with options.keep.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(verdict) + "\n" for verdict in new)
    if cut:
        raise Cut(kept + new, len(names))
    return kept + new


def holds(timing, truth):
    low, high = timing["speedup_interval"]
    return low <= truth <= high


def line(verdict, truth):
    timing = verdict["timing"]
    if not timing:
        return f"{verdict['problem']['id']}: {verdict['status']}: {verdict['error']}"
    low, high = timing["speedup_interval"]
    marks = "" if holds(timing, truth) else " misses"
    marks += "" if timing["meaningful"] else " (not meaningful)"
    return (
        f"{verdict['problem']['id']}: {timing['speedup']:.3f} [{low:.3f}, {high:.3f}]{marks}, "
        f"candidate {timing['candidate']['median'] * 1e3:.1f} us, reference "
        f"{timing['reference']['median'] * 1e3:.1f} us, "
        f"dispatch overhead {timing['dispatch_overhead_us']:.0f} us"
    )


def summary(title, verdicts, truth):
    timings = [v["timing"] for v in verdicts if v["timing"]]
    if len(timings) < 2:
        return
    ratios = [timing["speedup"] / truth for timing in timings]
    widths = [high - low for low, high in (timing["speedup_interval"] for timing in timings)]
    known = [timing for timing in timings if timing["meaningful"]]
    low, middle, high = (truth * ratio for ratio in statistics.quantiles(ratios, n=4))

    def share(count):
        return f"{count} ({count / len(timings):.0%})"

    print(
        f"{title}: {len(timings)} times, median {middle:.3f}, quartiles {low:.3f} and {high:.3f};",
        f"within 3 %: {share(sum(abs(ratio - 1) <= NEAR for ratio in ratios))};",
        f"intervals that hold {truth}: {share(sum(holds(t, truth) for t in timings))},",
        f"half of one {statistics.median(widths) / 2 / truth:.1%};",
        f"meaningful: {share(len(known))}, of which hold it {sum(holds(t, truth) for t in known)}",
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="problems, as softmax or torch/matmul")
    parser.add_argument("--twice", action="store_true", help="candidates do the work twice")
    parser.add_argument("--load", type=int, default=0, help="busy processes beside")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--gpu", action="store_true", help="CUDA references for native problems")
    parser.add_argument("--all", action="store_true", help="print every evaluation")
    parser.add_argument("--keep", type=pathlib.Path, help="file of verdicts to go on with")
    parser.add_argument("-s", dest="settings", action="append", default=[], metavar="NAME=VALUE")
    options = parser.parse_args()
    truth = 0.5 if options.twice else 1
    wanted = options.names or (COMPUTE.split() if options.twice else None)
    known = problems(options.gpu, options.names)
    names = [(name, path) for name, path in known if wanted is None or name in wanted]
    with busy(options.load), tempfile.TemporaryDirectory(prefix="warpgym-itself-") as folder:
        try:
            judging = judge_rest if options.keep else judge
            verdicts, cut = judging(pathlib.Path(folder), names * options.rounds, options), None
        except Cut as stopped:
            verdicts, cut = stopped.verdicts, stopped
    for verdict in sorted(verdicts, key=lambda v: v["problem"]["id"]):
        if options.all or not verdict["timing"] or not holds(verdict["timing"], truth):
            print(" ", line(verdict, truth))
    torch = [v for v in verdicts if v["problem"]["format"] == "torch"]
    native = [v for v in verdicts if v["problem"]["format"] != "torch"]
    for title, group in (("native", native), ("PyTorch", torch), ("all", verdicts)):
        summary(title, group, truth)
    if cut:
        print(cut)
        sys.exit(1)


if __name__ == "__main__":
    main()
