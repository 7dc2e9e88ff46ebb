#!/usr/bin/env python3
"""What sampling ahead is worth: seconds a step with `train.staleness` 0 and 1, judged elsewhere.

    make train-demo && .venv/bin/python bench/train_ahead.py [--verdict 1] [--rounds 3]

The model and the problems are those of the demonstration's seed 1. The judge stands in for one on
another machine: each verdict comes after --verdict seconds in which nothing is done here, and a
candidate's digest decides whether it passed, so that there is something to learn from. Runs of both
kinds take turns; the first step of each, and the last one (nothing is played beside it), are left
out. Figures are medians and quartiles of steps; the ratio is of the medians of one round.
"""

import argparse
import hashlib
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "system"))

import v1_server  # noqa: E402

PARTS = ("total", "rollout", "train")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--demo", type=Path, default=ROOT / "runs" / "train-demo" / "seed-1")
    parser.add_argument("--verdict", type=float, default=1, help="seconds until a verdict")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=10)
    found = parser.parse_args()
    if not (found.demo / "sft" / "model").is_dir():
        parser.error(f"no model in {found.demo}: run `make train-demo`, or name another one")
    return found


def judge_after(seconds):
    def judge(request):
        time.sleep(seconds)
        source = request["candidate"]["source"].encode()
        verdict = v1_server.plain_verdict(request)
        passed = hashlib.sha256(source).digest()[0] % 2 == 0
        return verdict | {"status": "passed" if passed else "wrong", "correct": passed}

    return judge


def steps_of(asked, lag, url, folder):
    """Lines of metrics of the steps that count."""
    values = {
        "train.model": asked.demo / "sft" / "model",
        "train.problems": f"@{asked.demo / 'train.txt'}",
        "train.steps": asked.steps,
        "train.prompts": 8,
        "train.samples": 8,
        "train.evaluate_every": 0,
        "train.save_every": 1000,
        "train.timing": "false",
        "train.threads": 1,
        "train.staleness": lag,
        "train.jobs": 64,
        "prompts.path": ROOT / "demo" / "train" / "prompts",
        "run.threads": 1,
    }
    subprocess.run(
        [ROOT / "warpgym", "train", ROOT / "demo" / "train" / "train.yaml", "--quiet"]
        + ["--out", folder, "--problems", asked.demo / "problems", "--server", url]
        + [f"{name}={value}" for name, value in values.items()],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    lines = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines][1:-1]


def shown(values):
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:6.2f} [{low:.2f}, {high:.2f}]"


def main():
    asked = arguments()
    found, ratios = {0: [], 1: []}, []
    with v1_server.Server(judge_after(asked.verdict)) as server:
        for number in range(asked.rounds):
            medians = {}
            for lag in (0, 1):
                with tempfile.TemporaryDirectory() as scratch:
                    lines = steps_of(asked, lag, server.url, Path(scratch) / "run")
                found[lag] += lines
                medians[lag] = statistics.median(line["time/total"] for line in lines)
            ratios.append(medians[0] / medians[1])
            print(f"round {number + 1}: {medians[0]:.2f} s and {medians[1]:.2f} s a step")
    for lag, lines in found.items():
        for part in PARTS:
            print(f"lag {lag}, {part:8} {shown([line[f'time/{part}'] for line in lines])} s")
    print(f"ahead: {statistics.median(ratios):.2f} times as many steps", end="")
    print(f" ({min(ratios):.2f} to {max(ratios):.2f})")


if __name__ == "__main__":
    main()
