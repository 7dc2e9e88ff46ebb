#!/usr/bin/env python3
"""A small model learns to write kernels, from nothing: first from answers of a crowd that errs,
then from the judge's verdicts. Measured before and after on problems that it has never seen.

    scripts/train-demo                       seeds 1, 2 and 3, into runs/train-demo
    scripts/train-demo --seeds 7 --out DIR
    scripts/train-demo --smoke --out DIR     the same in a few seconds, with nothing to show for it

The same command goes on with what was stopped. docs/guide/train.md says what is trained on what.
"""

import contextlib
import json
import shutil
import subprocess
import time
from pathlib import Path

import command_line
import data
import figure
import results

HERE = Path(__file__).resolve().parent

SIZES = {
    "demo": {
        "pairs": 8000, "train": 160, "held_out": 60, "vocabulary": 400, "epochs": 2,
        "steps": 30, "prompts": 8, "samples": 8, "asked": 4,
    },
    "smoke": {
        "pairs": 60, "train": 4, "held_out": 2, "vocabulary": 300, "epochs": 1,
        "steps": 2, "prompts": 2, "samples": 2, "asked": 1,
    },
}  # fmt: skip


class Demo:
    """One seed: its directory, its size, and how long each part took."""

    def __init__(self, folder, seed, size, arguments):
        self.folder, self.seed, self.size = folder, seed, size
        self.binary = arguments.warpgym
        self.threads = str(arguments.threads)
        self.quiet = arguments.quiet
        self.times_file = folder / "times.json"
        self.times = {}
        if self.times_file.exists():
            self.times = json.loads(self.times_file.read_text(encoding="utf-8"))

    def say(self, text):
        print(f"seed {self.seed}: {text}", flush=True)

    @contextlib.contextmanager
    def timed(self, part):
        """Adds up over the calls that a part took, where one was stopped."""
        begun = time.monotonic()
        try:
            yield
        finally:
            self.times[part] = self.times.get(part, 0) + time.monotonic() - begun
            self.times_file.write_text(json.dumps(self.times), encoding="utf-8")

    def warpgym(self, *arguments, **options):
        command = [self.binary, *map(str, arguments)]
        return subprocess.run(command, check=True, text=True, **options)

    # --- parts -----------------------------------------------------------------------------------

    def prepare(self):
        size = self.size
        if (self.folder / "model.json").exists():
            return  # which problems are admitted may be another answer of chance
        data.write(self.binary, self.folder, self.seed, size)
        pairs, tokenizer = self.folder / "pairs.txt", self.folder / "tokenizer"
        self.warpgym("lm", "tokenizer", "--vocab", size["vocabulary"], "-o", tokenizer, pairs)
        config = json.loads((HERE / "model.json").read_text(encoding="utf-8"))
        config["vocab_size"] = size["vocabulary"]
        (self.folder / "model.json").write_text(json.dumps(config), encoding="utf-8")

    def fine_tune(self):
        self.warpgym(
            "lm", "train", "--fresh", self.folder / "model.json", "--style", "plain",
            "--tokenizer", self.folder / "tokenizer", "--data", self.folder / "pairs.jsonl",
            "--epochs", self.size["epochs"], "--batch-tokens", 1024, "--rate", 0.003,
            "--warmup", 50, "--floor", 0.05, "--seed", self.seed, "--threads", self.threads,
            "--out", self.folder / "sft", *self.quietly(),
        )  # fmt: skip
        return self.folder / "sft" / "model"

    def quietly(self):
        return ["--quiet"] if self.quiet else []

    def reinforce(self, model):
        size = self.size
        values = {
            "train.model": model,
            "prompts.path": HERE / "prompts",
            "train.problems": f"@{self.folder / 'train.txt'}",
            "train.held_out": f"@{self.folder / 'held_out.txt'}",
            "train.steps": size["steps"],
            "train.prompts": size["prompts"],
            "train.samples": size["samples"],
            "train.evaluate_every": size["steps"],
            "train.evaluate_samples": size["asked"],
            "train.seed": self.seed,
            "train.threads": self.threads,
        }
        self.warpgym(
            "train", HERE / "train.yaml", "--out", self.folder / "rl",
            "--problems", self.folder / "problems", *self.quietly(),
            *(f"{name}={value}" for name, value in values.items()),
        )  # fmt: skip

    def evaluations(self):
        """Trajectories of the held-out problems, before the first step and behind the last one."""
        found = sorted((self.folder / "rl" / "evaluations").glob("step-*.jsonl"))
        named = [self.folder / "before.jsonl", self.folder / "after.jsonl"]
        for path, name in zip((found[0], found[-1]), named, strict=True):
            shutil.copy(path, name)
        return named

    def report(self):
        asked = ["--problems", self.folder / "held_out.txt", "--samples", self.size["asked"]]
        page = ["--out", self.folder / "report.html"]
        self.warpgym("runs", "report", self.folder / "rl", *page, stdout=subprocess.DEVNULL)
        run = self.warpgym(
            "report", *self.evaluations(), *asked, "--json", stdout=subprocess.PIPE
        )
        return json.loads(run.stdout)

    def metrics(self):
        text = (self.folder / "rl" / "metrics.jsonl").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]

    def split(self):
        """Seconds of the steps' parts. Answers and verdicts overlap: shares of their sums."""
        lines = self.metrics()
        sums = {
            name: sum(line.get(f"time/{name}") or 0 for line in lines)
            for name in ("rollout", "train", "evaluate", "answers_sum", "verdicts_sum")
        }
        both = sums["answers_sum"] + sums["verdicts_sum"]
        share = sums["answers_sum"] / both if both else 0
        return {
            "prepare": self.times["prepare"],
            "fine-tune": self.times["fine-tune"],
            "sample": sums["rollout"] * share,
            "judge": sums["rollout"] * (1 - share),
            "train": sums["train"],
            "evaluate": sums["evaluate"],
            "all": sum(self.times.values()),
        }


def main():
    parser = command_line.parser(__doc__, "runs/train-demo", [1, 2, 3])
    arguments = parser.parse_args()
    size = SIZES["smoke" if arguments.smoke else "demo"]
    found, curves = [], []
    for seed in arguments.seeds:
        demo = Demo(arguments.out / f"seed-{seed}", seed, size, arguments)
        demo.folder.mkdir(parents=True, exist_ok=True)
        with demo.timed("prepare"):
            demo.prepare()
        with demo.timed("fine-tune"):
            model = demo.fine_tune()
        with demo.timed("reinforce"):
            demo.reinforce(model)
        found.append((seed, demo.report(), demo.split()))
        curves.append((seed, demo.metrics()))
    text = results.table(found)
    (arguments.out / "table.md").write_text(text, encoding="utf-8")
    (arguments.out / "curves.svg").write_text(figure.figure(curves), encoding="utf-8")
    print(text, end="")


if __name__ == "__main__":
    command_line.run("train-demo", main)
