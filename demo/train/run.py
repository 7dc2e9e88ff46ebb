#!/usr/bin/env python3
"""A small model learns to write kernels, from nothing: first from answers of a crowd that errs, then
from the judge's verdicts. Measured before and after on problems that it has never seen.

    scripts/train-demo                       seeds 1, 2 and 3, into runs/train-demo
    scripts/train-demo --seeds 7 --out DIR
    scripts/train-demo --smoke --out DIR     the same in a few seconds, with nothing to show for it

The same command goes on with what was stopped. docs/train.md says what is trained on what.
"""

import argparse
import contextlib
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import data

HERE = Path(__file__).resolve().parent
WARPGYM = HERE.parents[1] / "warpgym"

SIZES = {
    "demo": {
        "pairs": 3000, "train": 160, "held_out": 60, "vocabulary": 512, "epochs": 2,
        "steps": 50, "prompts": 8, "samples": 8, "asked": 4,
    },
    "smoke": {
        "pairs": 60, "train": 4, "held_out": 2, "vocabulary": 384, "epochs": 1,
        "steps": 2, "prompts": 2, "samples": 2, "asked": 1,
    },
}  # fmt: skip
EPISODE = {
    "gym.turns": 1,
    "gym.style": "kernel",
    "gym.reward": "drkernel",
    "gym.language": "c",
    "prompts.path": HERE / "prompts",
}
ANSWER_TOKENS = 260


def settings(values):
    return [part for name, value in values.items() for part in ("-s", f"{name}={value}")]


class Demo:
    """One seed: its directory, its size, and how long each part took."""

    def __init__(self, folder, seed, size, arguments):
        self.folder, self.seed, self.size = folder, seed, size
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
        command = [WARPGYM, *map(str, arguments)]
        return subprocess.run(command, check=True, text=True, **options)

    # --- parts -----------------------------------------------------------------------------------

    def prepare(self):
        size = self.size
        data.write(self.folder, self.seed, size["pairs"], size["train"], size["held_out"])
        pairs, tokenizer = self.folder / "pairs.txt", self.folder / "tokenizer"
        self.warpgym("lm", "tokenizer", "--vocab", size["vocabulary"], "-o", tokenizer, pairs)
        config = json.loads((HERE / "model.json").read_text(encoding="utf-8"))
        config["vocab_size"] = size["vocabulary"]
        (self.folder / "model.json").write_text(json.dumps(config), encoding="utf-8")

    def fine_tune(self):
        self.warpgym(
            "lm", "train", "--fresh", self.folder / "model.json", "--style", "plain",
            "--tokenizer", self.folder / "tokenizer", "--data", self.folder / "pairs.jsonl",
            "--epochs", self.size["epochs"], "--batch-tokens", 4096, "--rate", 0.003,
            "--warmup", 20, "--floor", 0.05, "--seed", self.seed, "--threads", self.threads,
            "--out", self.folder / "sft", *self.quietly(),
        )  # fmt: skip
        return self.folder / "sft" / "model"

    def quietly(self):
        return ["--quiet"] if self.quiet else []

    @contextlib.contextmanager
    def served(self, model):
        """The model's address, from outside: the weights are those of its files."""
        command = [WARPGYM, "lm", "serve", model, "--listen", "127.0.0.1:0"]
        command += ["--threads", self.threads, "--sequences", "32"]
        log = open(self.folder / "serve.log", "w", encoding="utf-8")  # noqa: SIM115
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            line = server.stdout.readline()
            yield line[line.index("http://") :].split()[0]
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait()
            log.close()

    def measure(self, name, model, temperature, samples):
        """Plays the held-out problems; the directory of the run."""
        out = self.folder / name
        episode = EPISODE | {"policy.temperature": temperature, "policy.at_once": 32}
        episode["policy.max_tokens"] = ANSWER_TOKENS
        with self.served(model) as address:
            self.warpgym(
                "rollout", "--policy", address, "--samples", samples, "--out", out,
                "--problems", self.folder / "problems", "--evaluations", 2, *settings(episode),
                *self.quietly(), f"@{self.folder / 'held_out.txt'}",
            )  # fmt: skip
        return out


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("runs/train-demo"))
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--smoke", action="store_true", help="a few seconds, for tests")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    arguments = parser.parse_args()
    size = SIZES["smoke" if arguments.smoke else "demo"]
    for seed in arguments.seeds:
        demo = Demo(arguments.out / f"seed-{seed}", seed, size, arguments)
        demo.folder.mkdir(parents=True, exist_ok=True)
        demo.prepare()
        model = demo.fine_tune()
        demo.measure("before", model, 1, size["asked"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
