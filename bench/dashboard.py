"""How fast the dashboard is with very much to show.

    bench/dashboard.py DIRECTORY [--steps 10000] [--trajectories 100000] [--verdicts 1000000]

Makes a run and a queue in DIRECTORY (once: a second call measures what is there), serves them,
and prints JSON: seconds until the index and the leaderboard are complete, milliseconds and bytes of
the main answers, and in Chromium of each view the first contentful paint and the time until it is
whole; of two scrolls over the long lists, as one reads and from end to end, the frames a second and
the pauses between them.
"""

import argparse
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / "system"), str(ROOT / "python")]
import browser  # noqa: E402
import dashboard_support  # noqa: E402

PROBLEMS = 250
RUN = "big"
SCROLL_MS = 4000

# Scrolls by so many pixels a second, or from end to end, and notes when each frame is drawn.
SCROLL = """new Promise(done => {
    const list = document.querySelector('.rows-scroll'), times = [], begun = performance.now();
    const all = list.scrollHeight - list.clientHeight, speed = %s || all / %d;
    const frame = now => {
        times.push(now);
        const spent = performance.now() - begun;
        list.scrollTop = Math.min(all, spent * speed);
        if (spent < %d) return requestAnimationFrame(frame);
        const gaps = times.slice(1).map((time, i) => time - times[i]).sort((a, b) => a - b);
        const round = ms => Math.round(10 * ms) / 10;
        done({fps: round(1000 * gaps.length / (times.at(-1) - times[0])),
            median_ms: round(gaps[gaps.length >> 1]),
            p95_ms: round(gaps[Math.floor(gaps.length * .95)]), most_ms: round(gaps.at(-1))});
    };
    requestAnimationFrame(frame);
})"""
READING = 3  # pixels in a millisecond: 88 rows a second


def make_run(directory, steps, trajectories):
    if directory.exists():
        return
    dashboard_support.write(directory, 3)
    with (directory / "metrics.jsonl").open("w", encoding="utf-8") as file:
        for step in range(steps):
            level = 1 - 1 / (1 + step / 1000)
            values = {"step": step, "reward/mean": level + random.random() / 4}
            for name in (
                "kernel/correct_rate",
                "kernel/mean_speedup",
                "optim/loss",
                "lag/max",
            ):
                values[name] = level * random.random()
            for name in ("time/total", "time/rollout", "time/train"):
                values[name] = 1 + random.random()
            values |= {f"other/{n}": random.random() for n in range(40)}
            file.write(json.dumps(values) + "\n")
    each = max(1, trajectories // steps)
    with (directory / "traces.jsonl").open("w", encoding="utf-8") as file:
        for n in range(trajectories):
            status = random.choice(
                ["passed", "wrong", "compile_error", "runtime_error"]
            )
            problem, reward = f"level1/{n % PROBLEMS}", random.random()
            line = dashboard_support.trace(
                n // each, problem, n % each, reward=reward, status=status
            )
            line["answer"] += "// " + "x" * random.randrange(4000) + "\n"
            file.write(json.dumps(line) + "\n")


def make_queue(warpgym, path, verdicts):
    if path.exists():
        return
    with serving(warpgym, path):
        pass  # it makes the tables
    base = dashboard_support.verdict("passed")
    database = sqlite3.connect(path)
    database.execute("pragma synchronous = off")
    now = int(time.time() * 1000)
    for first in range(0, verdicts, 10000):
        jobs, results, payloads = [], [], []
        for n in range(first, min(first + 10000, verdicts)):
            base["problem"]["id"], base["candidate"]["hash"] = (
                f"level1/{n % PROBLEMS}",
                f"{n:064x}",
            )
            base["status"] = "passed" if n % 3 else "wrong"
            base["timing"]["speedup"] = random.lognormvariate(0, 1)
            text = json.dumps(base, separators=(",", ":")).encode()
            jobs.append((n + 1, f"{n:032x}", now, now, now, base["status"], len(text)))
            results.append((n + 1, text))
            payloads.append((n + 1, b"{}"))
        database.executemany(
            "insert into jobs (sequence, id, batch, key, needs, priority, state, put_ms,"
            " claimed_ms, ended_ms, outcome, payload_bytes, result_bytes)"
            " values (?, ?, '', '', 'cpu', 2, 2, ?, ?, ?, ?, 2, ?)",
            jobs,
        )
        database.executemany("insert into results values (?, ?)", results)
        database.executemany("insert into payloads values (?, ?)", payloads)
        database.commit()
    database.close()


class serving:  # noqa: N801 - used as a function
    def __init__(self, warpgym, queue, *arguments):
        line = [warpgym, "serve", "--workers", "none", "--listen", "127.0.0.1:0"]
        line += ["--queue", f"sqlite:{queue}", "--set", "queue.keep_ms=0"]
        line += ["--set", "queue.keep_jobs=0", "--set", "queue.keep_bytes=0"]
        self.process = subprocess.Popen(
            [*line, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        words = self.process.stdout.readline().decode().split()
        self.url = words[3].rstrip(",")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()

    def get(self, path):
        begun = time.monotonic()
        with urllib.request.urlopen(self.url + path) as answer:
            text = answer.read()
        took_ms = 1000 * (time.monotonic() - begun)
        return json.loads(text), {"ms": round(took_ms, 1), "bytes": len(text)}


def until_complete(server, path, is_complete):
    begun = time.monotonic()
    while not is_complete(server.get(path)[0]):
        time.sleep(0.05)
    return round(time.monotonic() - begun, 2)


def measure_server(server):
    runs = f"/v1/runs/{RUN}"
    figures = {
        "index_s": until_complete(
            server, f"{runs}/traces?limit=1",
            lambda answer: answer["index"]["read_bytes"] == answer["index"]["file_bytes"],
        ),
        "leaderboard_s": until_complete(
            server, "/v1/leaderboard?limit=1", lambda answer: answer["progress"]["complete"]
        ),
    }  # fmt: skip
    for name, path in {
        "metrics": f"{runs}/metrics?names=reward/mean,optim/loss,kernel/correct_rate&points=100",
        "traces": f"{runs}/traces?from=50000&limit=200",
        "text": f"{runs}/traces?text=nowhere",
        "grid": f"{runs}/grid",
        "leaderboard": "/v1/leaderboard?limit=200",
        "leaders": "/v1/leaderboard/level1/7",
    }.items():
        figures[name] = server.get(path)[1]
    return figures


def measure_page(server):
    figures = {}
    for view in (
        "runs",
        f"grid/{RUN}",
        f"traces/{RUN}",
        f"trajectory/{RUN}/50/1",
        "leaderboard",
    ):
        with browser.Browser(1280, 1000) as page:
            page.open(f"{server.url}/#/{view}")
            page.until("!!document.documentElement.dataset.ready")
            page.settle()
            paints = (
                "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
            )
            figures[view.split("/")[0]] = {
                "paint_ms": round(page.value(paints)),
                "whole_ms": round(page.value("performance.now()")),
            }
            if page.value("!!document.querySelector('.rows-scroll')"):
                for name, speed in (("reading", READING), ("end_to_end", "null")):
                    script = SCROLL % (speed, SCROLL_MS, SCROLL_MS)
                    figures[view.split("/")[0]][name] = page.value(script)
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--steps", type=int, default=10000)
    parser.add_argument("--trajectories", type=int, default=100000)
    parser.add_argument("--verdicts", type=int, default=1000000)
    arguments = parser.parse_args()
    warpgym = (
        os.environ.get("TEST_WARPGYM") or shutil.which("warpgym") or ROOT / "warpgym"
    )
    random.seed(0)
    arguments.directory.mkdir(parents=True, exist_ok=True)
    runs, queue = arguments.directory / "runs", arguments.directory / "queue.db"
    make_run(runs / RUN, arguments.steps, arguments.trajectories)
    make_queue(warpgym, queue, arguments.verdicts)
    with serving(warpgym, queue, "--set", f"server.runs={runs}") as server:
        figures = measure_server(server)
        if browser.PROGRAM:
            figures["page"] = measure_page(server)
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
