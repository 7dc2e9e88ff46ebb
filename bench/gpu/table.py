"""What docs/measurements says of a machine with a GPU. Run on a quiet one:

    bench/gpu/run                    all of it
    bench/gpu/run builds hostile     some of: builds hostile mixed self agreement

Everything is judged by one `warpgym eval` process that has judged something of the kind before
(a warm worker), with build caches of its own. The time of an evaluation is the sum of its stages.
BENCH_SETTINGS="timing.gpu_budget_ms=200ms timing.gpu_target=0.01" are settings for the judge.
"""

import collections
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from agreement import agreement
from evaluation import ROOT, Cut, evaluate, write_batch, written

HERE = pathlib.Path(__file__).resolve().parent
ROUNDS = 5
JOBS = 16  # for each GPU
SETTINGS = os.environ.get("BENCH_SETTINGS", "").split()


def candidate(name):
    return (HERE / "candidates" / name).read_text(encoding="utf-8")


def judged(work, tasks, *options, log=None):
    """[(problem, file name, text)] in that order; the verdicts in that order, and the wall time.
    `log`: as `evaluate` has it."""
    places = [HERE / "problems" / name if name.endswith(".py") else name for name, *_ in tasks]
    batch, paths = write_batch(
        work, [(place, *task[1:]) for place, task in zip(places, tasks, strict=True)]
    )
    settings = [f"cache.directory={work / 'cache'}", *SETTINGS]
    start = time.monotonic()
    try:
        verdicts = evaluate(*options, batch, settings=settings, count=len(tasks), log=log)
    except Cut as cut:
        if len(cut.verdicts) < len(tasks):
            raise
        verdicts = cut.verdicts  # the judge failed for some, and their verdicts say so
    wall_s = time.monotonic() - start
    order = {str(path): index for index, path in enumerate(paths)}
    verdicts.sort(key=lambda verdict: order[verdict["candidate"]["path"]])
    return verdicts, wall_s


def total_ms(verdict):
    return sum(verdict["stages_ms"].values())


def spread(values):
    values = sorted(values)
    return f"{statistics.median(values):.0f} [{values[0]:.0f}, {values[-1]:.0f}]"


def stages(verdicts):
    names = [name for name in verdicts[0]["stages_ms"]]
    medians = {n: statistics.median(v["stages_ms"][n] for v in verdicts) for n in names}
    return ", ".join(f"{name} {ms:.0f}" for name, ms in medians.items() if ms >= 0.5)


def report(title, verdicts, bar):
    wrong = [v for v in verdicts if v["status"] != "passed"]
    print(f"{title:46} {spread([total_ms(v) for v in verdicts]):>18} ms   bar {bar:>5}   "
          f"{stages(verdicts)}")
    for verdict in wrong[:2]:
        error = verdict["error"] or {"message": verdict["integrity"]["violations"]}
        print(f"    {verdict['status']}: {str(error['message'])[:300]}")


def fresh(text, name, round_number):
    """The same work in other code, so that nothing of it is in any cache."""
    return re.sub(rf"\b{name}\b", f"{name}_{round_number}", text)


def builds():
    """First builds and cached ones, of each kind."""
    inline, triton = candidate("relu_inline.py"), candidate("softmax_triton.py")
    device = candidate("relu_device.cu")
    nvcc = (ROOT / "problems/native/relu/tests/fast.cu").read_text(encoding="utf-8")
    kinds = [
        ("device-only CUDA kernel", "relu", "device.cu", device, "relu", 250, None),
        ("native nvcc candidate", "relu", "fast.cu", nvcc, "relu_kernel", 1600, None),
        ("Triton softmax 4096x16384", "softmax_4096x16384.py", "triton.py", triton,
         "softmax_kernel", 1200, 600),
        ("CUDA ReLU through load_inline", "relu_4096x16384.py", "inline.py", inline,
         "relu_kernel", 4000, 600),
    ]
    for title, problem, name, text, word, cold_bar, warm_bar in kinds:
        with tempfile.TemporaryDirectory() as folder:
            tasks = [(problem, name, fresh(text, word, 99))]
            for i in range(ROUNDS):
                text_i = fresh(text, word, i) + ("// %d\n" if name.endswith("cu") else "# %d\n") % i
                tasks += [(problem, name, text_i)] * 2
            verdicts, _ = judged(pathlib.Path(folder), tasks)
            report(title + ", first build", verdicts[1::2], cold_bar)
            report(title + ", cached", verdicts[2::2], warm_bar or "-")
    with tempfile.TemporaryDirectory() as folder:
        online = candidate("softmax_online.py")
        tasks = [("softmax_4096x393216.py", "online.py", online)] * 3
        verdicts, _ = judged(pathlib.Path(folder), tasks)
        report("KernelBench 1/23, 4096x393216 (Triton)", verdicts[1:], 5000)


EAGER = "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        "
HOSTILE_CU = {
    "illegal": "y[i + (1ull << 40)] = x[i];",
    "assertion": "assert(x[i] > 1e30f);",
    "endless": "while (((volatile float *)y)[i] != 12345.0f) ;",
}
SHELL_CU = """#include <cassert>
__global__ void work(const float *x, float *y, size_t n)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    %s
    y[i] = fmaxf(x[i], 0);
}
extern "C" void solution(const float *x, float *y, size_t n)
{
    %s
    work<<<(n + 255) / 256, 256>>>(x, y, n);
}
"""


def hostile_tasks():
    tasks = [("relu", f"{name}.cu", SHELL_CU % (body, "")) for name, body in HOSTILE_CU.items()]
    many = "for (int i = 0; i < 10000; i++) work<<<(n + 255) / 256, 256>>>(x, y, n);"
    tasks.append(("relu", "many.cu", SHELL_CU % ("", many)))
    greedy = "return torch.empty(50 * 2**30, device='cuda') + x[0, 0]"
    tasks.append(("relu_4096x16384.py", "greedy.py", EAGER + greedy + "\n"))
    return tasks


def hostile():
    """Each alone fails; an honest one follows it at once."""
    honest = (ROOT / "problems/native/relu/tests/fast.cu").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        tasks = [("relu", "honest.cu", honest)]
        for task in hostile_tasks():
            tasks += [task, ("relu", "honest.cu", honest)]
        verdicts, _ = judged(pathlib.Path(folder), tasks, "-s", "run.timeout_ms=2s")
    for bad, after in zip(verdicts[1::2], verdicts[2::2], strict=True):
        name = pathlib.Path(bad["candidate"]["path"]).name
        message = (bad["error"] or {}).get("message", "")
        print(f"{name:16} {bad['status']:14} {total_ms(bad):6.0f} ms; then {after['status']} in "
              f"{total_ms(after):.0f} ms   {message[:110]}")


def mixed_tasks():
    """40 of each kind: Triton, extension, nvcc, device-only, plain or broken."""
    inline, triton = candidate("relu_inline.py"), candidate("softmax_triton.py")
    device = candidate("relu_device.cu")
    nvcc = (ROOT / "problems/native/softmax/tests/fast.cu").read_text(encoding="utf-8")
    tasks = []
    for i in range(20):
        tag = f"_{i}"
        tasks += [
            ("softmax_4096x16384.py", f"triton{tag}.py", fresh(triton, "softmax_kernel", i)),
            ("softmax_4096x16384.py", f"triton_wrong{tag}.py",
             fresh(triton, "softmax_kernel", 100 + i).replace("tl.sum(", "1.01 * tl.sum(")),
            ("relu_4096x16384.py", f"inline{tag}.py", fresh(inline, "relu_kernel", i)),
            ("relu_4096x16384.py", f"eager{tag}.py", f"{EAGER}return x.clamp(min=0)  # {i}\n"),
            ("relu_4096x16384.py", f"raises{tag}.py", f"{EAGER}return x.no_such_thing  # {i}\n"),
            ("softmax", f"nvcc{tag}.cu", nvcc + f"// {i}\n"),
            ("relu", f"device{tag}.cu", fresh(device, "relu", i)),
            ("relu", f"device_wrong{tag}.cu", fresh(device, "relu", 100 + i).replace("0);", "1);")),
            ("relu", f"broken{tag}.cu", SHELL_CU % ("int broken", "") + f"// {i}\n"),
            ("relu", f"crash{tag}.cu", SHELL_CU % (HOSTILE_CU["illegal"], "") + f"// {i}\n"),
        ]
    hang = SHELL_CU % (HOSTILE_CU["endless"], "")
    tasks[7::50] = [("relu", f"hang_{i}.cu", hang + f"// {i}\n") for i in range(len(tasks[7::50]))]
    return tasks


class Utilization:
    """What nvidia-smi calls that: the share of time in which some kernel ran; nothing without."""

    def __enter__(self):
        self.samples = []
        self.run = None
        if shutil.which("nvidia-smi"):
            query = ["--query-gpu=utilization.gpu", "--format=csv,noheader,nounits", "-lms", "200"]
            self.run = subprocess.Popen(
                ["nvidia-smi", *query], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
        return self

    def __exit__(self, *_):
        if self.run:
            self.run.terminate()
            text, _ = self.run.communicate()
            self.samples = [int(word) for word in text.split() if word.isdigit()]


def mixed():
    """200 candidates at once, on each GPU alone and on all together."""
    count = int(os.environ.get("BENCH_GPUS", "1"))
    rates = [
        mixed_on("all" if gpus > 1 else "0", gpus) for gpus in ([1, count] if count > 1 else [1])
    ]
    if len(rates) > 1:
        print(f"    {count} GPUs: {rates[1] / rates[0]:.2f} times the verdicts an hour of one")


def mixed_on(devices, gpus):
    jobs = str(min(JOBS * gpus, os.cpu_count()))
    settings = ("-s", "run.timeout_ms=2s", "-s", f"gpu.devices={devices}")
    os.environ.setdefault("WARPGYM_LOG", "info")
    with (tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as log,
          Utilization() as utilization):
        verdicts, wall_s = judged(
            pathlib.Path(folder), mixed_tasks(), "--jobs", jobs, *settings, log=log)
        logged = written(log)
    rate = len(verdicts) / wall_s * 3600
    counts = collections.Counter(verdict["status"] for verdict in verdicts)
    print(f"{len(verdicts)} candidates, {jobs} at a time, {gpus} GPU, nothing cached: "
          f"{wall_s:.1f} s, {rate:.0f} verdicts an hour")
    print("   ", ", ".join(f"{count} {status}" for status, count in counts.most_common()))
    unexpected(verdicts)
    total = {name: sum(v["stages_ms"][name] for v in verdicts) for name in verdicts[0]["stages_ms"]}
    print("    stages, s, all together:", {name: round(ms / 1e3, 1) for name, ms in total.items()})
    used = [float(word) for word in re.findall(r"was in use for ([0-9.]+) s", logged)]
    print("    in use (somebody held its lock):",
          ", ".join(f"{used_s:.1f} s, {used_s / wall_s:.0%}" for used_s in used) or "unknown")
    if utilization.samples:
        mean = statistics.mean(utilization.samples)
        print(f"    nvidia-smi: a kernel ran {mean:.0f} % of the time")
    return rate


EXPECTED = {
    "triton": "passed", "triton_wrong": "wrong", "inline": "passed", "eager": "passed",
    "raises": "runtime_error", "nvcc": "passed", "device": "passed", "device_wrong": "wrong",
    "broken": "compile_error", "crash": "runtime_error", "hang": "timeout",
}


def unexpected(verdicts):
    """Those that did not end as they should."""
    for verdict in verdicts:
        name = re.match(r"\d+_(\w+?)_\d+\.", pathlib.Path(verdict["candidate"]["path"]).name)[1]
        if verdict["status"] != EXPECTED[name]:
            why = verdict["error"] or verdict["integrity"]["violations"]
            print(f"    not {EXPECTED[name]}: {name} is {verdict['status']}: {str(why)[:240]}")


def own():
    """References against themselves: the median should be 1, and repeat (bench/itself.py)."""
    modules = [HERE / "problems" / f"{name}_4096x16384.py" for name in ("relu", "softmax")]
    natives = ["relu", "softmax", "transpose", "layer_norm", "row_sum", "gemm"]
    sets = [word for setting in SETTINGS for word in ("-s", setting)]
    script = [sys.executable, ROOT / "bench/itself.py", "--gpu", "--all", *sets]
    subprocess.run([*script, *modules, *natives], check=True)


def against_events():
    """The judge's times against those of an event benchmark: within 2 % or 1 us."""
    agreement(judged)


PARTS = {
    "builds": builds,
    "hostile": hostile,
    "mixed": mixed,
    "self": own,
    "agreement": against_events,
}


def main():
    unknown = [name for name in sys.argv[1:] if name not in PARTS]
    if unknown:
        sys.exit(f"bench/gpu/run: there is no part {unknown[0]}: say {' '.join(PARTS)}")
    for name in sys.argv[1:] or PARTS:
        print(f"--- {name}: {PARTS[name].__doc__.splitlines()[0]}", flush=True)
        PARTS[name]()


if __name__ == "__main__":
    main()
