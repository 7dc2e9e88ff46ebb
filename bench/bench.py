"""Figures for docs/measurements: medians and quartiles, ratios within one run."""

import json
import os
import pathlib
import platform
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import evaluation
import neighbours as costs
import service
from evaluation import ROOT

NATIVE = ROOT / "problems" / "native"
RUNS = 15
CANDIDATES = 200


def spread(values):
    """median [lower quartile, upper quartile]"""
    values = list(values)
    if len(values) < 2:
        return f"{values[0]:.1f}"
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:.1f} [{low:.1f}, {high:.1f}]"


class Calm:
    """Waits for a moment in which the machine does nothing else: no gap in a busy loop, and memory
    as fast as the best seen so far. Virtual machines have neighbours that no counter here shows."""

    GAP_S = 0.0003
    SLOWER = 1.25
    WAIT_S = 15

    def __init__(self):
        self.source = bytes(8 << 20)
        self.best = float("inf")
        self.waited = self.given_up = 0

    def _quiet(self):
        gap = 0
        last = start = time.perf_counter()
        while last - start < 0.02:
            now = time.perf_counter()
            gap = max(gap, now - last)
            last = now
        copies = []
        for _ in range(8):
            begin = time.perf_counter()
            bytearray(self.source)
            copies.append(time.perf_counter() - begin)
        copy = statistics.median(copies)
        self.best = min(self.best, copy)
        return gap < self.GAP_S and copy < self.best * self.SLOWER

    def wait(self):
        start = time.perf_counter()
        while not self._quiet():
            if time.perf_counter() - start > self.WAIT_S:
                self.given_up += 1
                break
        self.waited += time.perf_counter() - start


calm = Calm()


def evaluate(arguments, environment=None):
    """Verdicts and wall time in ms of one `warpgym eval --json`."""
    calm.wait()
    start = time.perf_counter()
    verdicts = evaluation.evaluate(*arguments, env={**os.environ, **(environment or {})})
    return verdicts, (time.perf_counter() - start) * 1e3


def stages(verdicts):
    names = verdicts[0]["stages_ms"]
    return ", ".join(
        f"{name} {statistics.median(v['stages_ms'][name] for v in verdicts):.1f}" for name in names
    )


def fresh(source, directory, number):
    """A copy that no cache has seen."""
    path = directory / f"{number:04d}_{source.parent.parent.name}_{source.name}"
    path.write_text(source.read_text() + f"\n/* {number} {time.time_ns()} */\n")
    return path


def latency(scratch):
    source = NATIVE / "softmax" / "tests" / "fast.c"
    evaluate(["--problem", "softmax", source])
    for title, make in (
        ("compile included", lambda i: fresh(source, scratch, i)),
        ("cached build", lambda i: source),
    ):
        verdicts, walls = [], []
        for i in range(RUNS):
            found, wall = evaluate(["--problem", "softmax", make(i)])
            verdicts += found
            walls.append(wall)
        print(f"softmax, {title}: {spread(walls)} ms whole command ({stages(verdicts)})")


def torch(scratch):
    problem = "torch/two_outputs"
    source = ROOT / "problems" / "torch" / "tests" / "two_outputs.fast.py"
    paths = []
    for i in range(RUNS):
        path = scratch / f"{i}.py"
        path.write_text(source.read_text() + f"\n# {i}\n")
        paths.append(path)
    verdicts, _ = evaluate(["--problem", problem, *paths])
    warm = verdicts[1:]
    totals = [sum(v["stages_ms"].values()) for v in warm]
    print(f"{problem}, warm: {spread(totals)} ms for each candidate ({stages(warm)})")


def throughput(scratch):
    problems = sorted(path.parent.name for path in NATIVE.glob("*/problem.yaml"))
    batch = scratch / "batch.jsonl"
    kinds = ("tests/fast.c", "tests/wrong.c", "reference.c", "tests/fast.c", "tests/fast.c")
    with batch.open("w") as out:
        for i in range(CANDIDATES):
            problem = problems[i % len(problems)]
            kind = kinds[i // len(problems) % len(kinds)]
            text = (NATIVE / problem / kind).read_text() + f"\n/* {i} {time.time_ns()} */\n"
            line = {"problem": problem, "source": text, "name": f"{i}_{problem}.c"}
            out.write(json.dumps(line) + "\n")
    verdicts, wall = evaluate(["--jobs", "2", batch])
    busy = sum(sum(v["stages_ms"].values()) - v["stages_ms"]["queue"] for v in verdicts)
    compiling = sum(v["stages_ms"]["compile"] for v in verdicts)
    calls = sum(sum(v["calls_ms"].values()) for v in verdicts)
    over = busy / (compiling + calls) - 1
    rate = len(verdicts) / wall * 1e3
    print(
        f"{len(verdicts)} native candidates, --jobs 2: {wall / 1e3:.1f} s, {rate:.1f} a second; "
        f"compile {compiling / 1e3:.1f} s, calls {calls / 1e3:.1f} s, "
        f"all stages {busy / 1e3:.1f} s: overhead {over * 100:.0f} %"
    )


THOROUGH = ["-s", "timing.target=0.01", "-s", "timing.budget_ms=200ms"]


def self_speedup(_scratch):
    """References against themselves and against twice their work: bench/itself.py."""
    for arguments in ([], THOROUGH, ["--load", "8"], ["--twice"]):
        calm.wait()
        print("bench/itself.py", *arguments, flush=True)
        subprocess.run([sys.executable, ROOT / "bench/itself.py", *arguments], check=True)


def handwritten(path, built):
    """Median in ms of the loop that a careful person writes."""
    calm.wait()
    done = subprocess.run(
        [ROOT / "build/bench/handwritten", path.parent, built, "40"],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    return float(done.stdout.split()[0])


def agreement(scratch):
    worst = []
    for path in sorted(NATIVE.glob("*/reference.c")):
        name = path.parent.name
        built = scratch / f"{name}.so"
        subprocess.run(
            ["gcc", "-std=gnu17", "-O3", "-march=native", "-fopenmp", "-fPIC", "-shared"]
            + ["-o", built, path, "-lm"],
            check=True,
            timeout=120,
        )
        pairs = []
        for _ in range(7):  # in turn, so that a drift meets both
            verdicts, _ = evaluate(["--problem", name, *THOROUGH, path])
            pairs.append((verdicts[0]["timing"]["candidate"]["median"], handwritten(path, built)))
        ratio = statistics.median(ours / hand for ours, hand in pairs)
        off_us = statistics.median(ours - hand for ours, hand in pairs) * 1e3
        agrees = abs(ratio - 1) <= 0.02 or abs(off_us) <= 1
        if not agrees:
            worst.append(f"{name} {ratio:.3f} ({off_us:+.1f} us)")
        mine, theirs = (spread(ms * 1e3 for ms in column) for column in zip(*pairs, strict=True))
        print(f"  {name}: {mine} us; by hand {theirs}")
    print(f"within 2 % or 1 us of a hand-written loop: all but {len(worst)}", *worst, sep="; ")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def queue(scratch):
    """Both stores: what they take and give, acknowledged as durable."""
    program = ROOT / "build" / "bench" / "queue"
    subprocess.run([program, f"sqlite:{scratch}/queue.db"], check=True, timeout=300)
    server = shutil.which("redis-server")
    if not server:
        print("  redis: not measured, there is no redis-server")
        return
    port = str(free_port())
    options = ["--dir", scratch, "--save", "", "--appendonly", "yes", "--appendfsync", "always"]
    redis = subprocess.Popen(
        [server, "--port", port, "--bind", "127.0.0.1", *options], stdout=subprocess.DEVNULL
    )
    try:
        subprocess.run([program, f"redis://127.0.0.1:{port}"], check=True, timeout=300)
    finally:
        redis.kill()
        redis.wait()


def http(_scratch):
    """Answers per second on loopback, the server and its client on the same cores."""
    load = ROOT / "build" / "bench" / "http_load"
    server = subprocess.Popen(
        [ROOT / "build" / "tests" / "server" / "http_echo"], stdout=subprocess.PIPE, text=True
    )
    address = server.stdout.readline().strip()
    waiting = ["--waiters", "1000", "--wait-path", "/wait?ms=20000"]
    for name, arguments in (
        ("client alone", ["--limit"]),
        ("64 connections", [address, "/items/abc"]),
        ("and 1,000 that wait", [*waiting, address, "/items/abc"]),
        ("on handler threads", [address, "/blocking?ms=0"]),
    ):
        run = subprocess.run([load, *arguments], capture_output=True, text=True, check=True)
        print(f"  {name}: {run.stdout.splitlines()[0].partition(': ')[2]}")
    server.terminate()
    server.communicate(timeout=30)


def neighbours(scratch):
    """Verdicts of honest candidates, and of those beside costly ones, in turn."""

    def judge(word):
        folder = scratch / word
        costs.write_honest(folder, word, 50)
        verdicts, _ = evaluate(["--jobs", "2", "--problem", "relu", folder])
        totals = sorted(sum(v["stages_ms"].values()) for v in verdicts)
        return statistics.median(totals), totals[-1]

    def start(hostile):
        path = scratch / hostile.file
        path.write_text(hostile.text)
        command = evaluation.command(
            "--problem", hostile.problem, path, settings=hostile.settings
        )
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    both = [hostile for hostile in costs.HOSTILE if hostile.name in ("builds", "time")]
    for group in [[hostile] for hostile in costs.HOSTILE] + [both]:
        name = " and ".join(hostile.name for hostile in group)
        rows = []
        for i in range(3):
            alone = judge(f"{name} {i} alone")
            running = [start(hostile) for hostile in group]
            time.sleep(5)
            beside = judge(f"{name} {i} beside")
            for process in running:
                process.terminate()
                process.wait()
            rows.append((*alone, *beside))
        for title, at in (("p50", 0), ("p99", 1)):
            ratio = statistics.median(row[at + 2] / row[at] for row in rows)
            alone, beside = (statistics.median(row[at + k] for row in rows) for k in (0, 2))
            print(f"50 beside {name}: {title} {alone:.0f} ms alone, {beside:.0f} ms, {ratio:.2f}")


def main():
    everything = "latency torch throughput neighbours self agreement queue http service split"
    wanted = os.environ.get("BENCH_ONLY", everything).split()
    print(f"{platform.platform()}, {os.cpu_count()} cores, {time.strftime('%Y-%m-%d')}")
    for name, run in (
        ("latency", latency),
        ("torch", torch),
        ("throughput", throughput),
        ("neighbours", neighbours),
        ("self", self_speedup),
        ("agreement", agreement),
        ("queue", queue),
        ("http", http),
        ("service", service.load),
        ("split", service.split),
    ):
        if name not in wanted:
            continue
        calm.waited = calm.given_up = 0
        scratch = pathlib.Path(tempfile.mkdtemp(prefix="warpgym-bench-"))
        try:
            run(scratch)
        finally:
            shutil.rmtree(scratch)
        print(f"  ({calm.waited:.0f} s waited for a quiet machine, {calm.given_up} times in vain)")


if __name__ == "__main__":
    main()
