#!/usr/bin/env python3
"""Which of the papers' claims show in a world as small as the demonstration's: runs that differ in
one thing each, on five seeds, measured on problems that none of them has seen.

    make reproduce                            seeds 1 to 5, into runs/reproduce
    demo/reproduce/run.py --seeds 7 --variants one-turn retrieval lazy lazy-pr
    demo/reproduce/run.py --smoke --out DIR   the same in seconds, with nothing to show for it

The same command goes on with what was stopped, and writes tables and curves of what there is.
docs/guide/reproduce.md says what is trained on what.
"""

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "train"))

import command_line  # noqa: E402, the folder of the demonstration is on the path now
import page  # noqa: E402
import world  # noqa: E402
from variants import VARIANTS  # noqa: E402

SIZES = {
    "native": {
        "conversations": 8000, "train": 160, "held_out": 60, "library": 400, "epochs": 2,
        "steps": 30, "asked": 4, "turns": 3, "max_tokens": 260, "language": "c",
    },
    "modules": {
        "conversations": 8000, "train": 80, "held_out": 40, "library": 0, "epochs": 2,
        "steps": 20, "asked": 2, "turns": 1, "max_tokens": 420, "language": "python",
    },
}  # fmt: skip
VOCABULARY = 400
ENVIRONMENT = os.environ | {"WARPGYM_TORCH_DEVICE": "cpu"}  # with a GPU, too: a page is of one device
SMOKE = {"conversations": 60, "train": 4, "held_out": 2, "epochs": 1, "steps": 2, "asked": 1}
SMALL = {"train.prompts": 2, "train.samples": 2}  # of a smoke test's steps


def size_of(world, smoke):
    size = SIZES[world] | (SMOKE if smoke else {})
    return size | {"library": min(size["library"], 6)} if smoke else size


class Seed:
    """One world of a seed: what all of its runs begin with, and they."""

    def __init__(self, folder, seed, world, arguments):
        self.folder, self.seed, self.world = folder, seed, world
        self.size, self.smoke = size_of(world, arguments.smoke), arguments.smoke
        self.binary, self.threads = arguments.warpgym, str(arguments.threads)
        self.quiet = ["--quiet"] if arguments.quiet else []
        folder.mkdir(parents=True, exist_ok=True)

    def warpgym(self, *arguments, **options):
        command = [self.binary, *map(str, arguments)]
        subprocess.run(command, check=True, text=True, env=ENVIRONMENT, **options)

    def prepare(self):
        if (self.folder / "model.json").exists():
            return
        world.write(self.world, self.binary, self.folder, self.seed, self.size)
        vocabulary = 300 if self.smoke else VOCABULARY
        self.warpgym("lm", "tokenizer", "--vocab", vocabulary, "-o", self.folder / "tokenizer",
                     self.folder / "pairs.txt")  # fmt: skip
        if self.size["library"]:
            self.warpgym("index", "build", "--quiet", self.folder / "index",
                         self.folder / "library.jsonl")  # fmt: skip
        config = json.loads((HERE / "model.json").read_text(encoding="utf-8"))
        config["vocab_size"] = vocabulary
        (self.folder / "model.json").write_text(json.dumps(config), encoding="utf-8")

    def fine_tune(self):
        self.warpgym(
            "lm", "train", "--fresh", self.folder / "model.json", "--style", "plain",
            "--tokenizer", self.folder / "tokenizer", "--data", self.folder / "pairs.jsonl",
            "--epochs", self.size["epochs"], "--batch-tokens", 1024, "--rate", 0.003,
            "--warmup", 50, "--floor", 0.05, "--seed", self.seed, "--threads", self.threads,
            "--out", self.folder / "sft", *self.quiet,
        )  # fmt: skip

    def common(self):
        values = {"prompts.path": HERE / "prompts", "gym.language": self.size["language"]}
        if self.size["library"]:
            values["retrieval.directory"] = self.folder / "index"
        return values

    def train(self, name):
        """The directory of the trained model."""
        settings = VARIANTS[name].settings
        if settings is None:
            return self.folder / "sft" / "model"
        out = self.folder / name / "rl"
        values = self.common() | settings | (SMALL if self.smoke else {})
        values |= {
            "train.model": self.folder / "sft" / "model",
            "train.problems": f"@{self.folder / 'train.txt'}",
            "train.held_out": f"@{self.folder / 'held_out.txt'}",
            "train.steps": self.size["steps"],
            "train.max_tokens": self.size["max_tokens"],
            "train.evaluate_every": 0,
            "train.seed": self.seed,
            "train.threads": self.threads,
        }
        self.warpgym(
            "train", HERE / "train.yaml", "--out", out, "--problems", self.folder / "problems",
            *self.quiet, *(f"{name}={value}" for name, value in values.items()),
        )  # fmt: skip
        model = self.folder / name / "model"
        if not model.exists():
            self.warpgym("runs", "export", out, model, "--checkpoint", "last",
                         stdout=subprocess.DEVNULL)  # fmt: skip
        return model

    @contextlib.contextmanager
    def served(self, model):
        """The address of `lm serve`, for as long as it is wanted."""
        command = [self.binary, "lm", "serve", model, "--listen", "127.0.0.1:0", "--name", "model",
                   "--threads", self.threads, "--sequences", "32"]  # fmt: skip
        server = subprocess.Popen(
            list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        try:
            words = server.stdout.readline().split()
            found = [word.rstrip(",") for word in words if word.startswith("http://")]
            if not found:
                raise subprocess.CalledProcessError(server.wait(), command)
            yield found[0]
        finally:
            server.terminate()
            server.wait()

    def play(self, name, model):
        """Trajectories of the held-out problems."""
        out = self.folder / name / "held-out"
        values = self.common() | VARIANTS[name].played
        values |= {"gym.turns": self.size["turns"], "gym.style": "kernel",
                   "gym.reward": "drkernel", "timing.budget_ms": "5ms", "policy.temperature": 1,
                   "policy.max_tokens": self.size["max_tokens"]}  # fmt: skip
        settings = [word for pair in values.items() for word in ("-s", "{}={}".format(*pair))]
        with self.served(model) as url:
            self.warpgym(
                "rollout", "--policy", url, "--model", "model", "--local",
                "--samples", self.size["asked"], "--out", out, *self.quiet,
                "--problems", self.folder / "problems", *settings,
                f"@{self.folder / 'held_out.txt'}", stdout=subprocess.DEVNULL,
            )  # fmt: skip

    def run(self, name):
        begun = time.monotonic()
        done = self.folder / name / "result.json"
        if done.exists():
            return
        self.play(name, self.train(name))
        result = page.measure(self.folder / name, self.size["turns"])
        result |= {"seed": self.seed, "variant": name, "seconds": time.monotonic() - begun}
        done.write_text(json.dumps(result), encoding="utf-8")
        print(f"seed {self.seed}, {name}: {page.sentence(result)}", flush=True)


def main():
    parser = command_line.parser(__doc__, "runs/reproduce", [1, 2, 3, 4, 5])
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    arguments = parser.parse_args()
    for number in arguments.seeds:
        for name in SIZES:
            wanted = [one for one in arguments.variants if VARIANTS[one].world == name]
            seed = Seed(arguments.out / f"seed-{number}" / name, number, name, arguments)
            if wanted:
                seed.prepare()
                seed.fine_tune()
            for variant in wanted:
                seed.run(variant)
        page.write(arguments.out)


if __name__ == "__main__":
    command_line.run("reproduce", main)
