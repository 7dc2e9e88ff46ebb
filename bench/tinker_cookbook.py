#!/usr/bin/env python3
"""tinker-cookbook's RL recipe on `warpgym lm serve --tinker`, beside `warpgym train`, with the same
model, problem, method and constants: right answers and time of both.

    ./setup.sh gym && .venv/bin/python bench/tinker_cookbook.py [--rounds 10] [--out FILE]

With --out the figures of each run are kept, and a later call goes on behind them.

    cookbook         examples/tinker_cookbook/train.py, judged by `warpgym serve`
    cookbook seeded  the same with the seeds of `warpgym train`, for adapter and answers
    train            `warpgym train`, which samples, trains and judges in its own process
    train served     the same, judged by `warpgym serve`
    train tinker     the same, and samples and trains on `lm serve --tinker`

The model is that of the tests' small world: it writes four answers, and not which belongs to which
problem. Programs take turns; each run has servers and caches of its own. Intervals are Student's
over runs, 95 %. Times are medians over runs of a run's median step, without its first.
"""

import argparse
import contextlib
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "system"), str(ROOT / "demo" / "train")]

import serving  # noqa: E402
import support  # noqa: E402
import tiny_world  # noqa: E402
from results import over_seeds, written  # noqa: E402
from tinker_serving import TinkerServer  # noqa: E402

EXAMPLE = ROOT / "examples" / "tinker_cookbook" / "train.py"
PROBLEM, RATE, RANK, ALPHA, MAX_TOKENS = "plus", 0.001, 8, 32, 120

# As tinker_cookbook.rl.train: advantages are rewards less their group's mean; the loss is a plain
# sum over tokens; Adam's constants, no bound of the gradient; no pass before the one that learns.
METHOD = {
    "train.method": "grpo",
    "train.estimator": "grpo",
    "train.filter": "none",
    "train.aggregation": "seq-sum-no-norm",
    "train.loss": "importance_sampling",
    "train.rescore": "false",
    "train.clip": 0,
    "train.beta1": 0.9,
    "train.beta2": 0.95,
    "train.epsilon": 1e-8,
    "train.decay": 0,
    "train.temperature": 1,
}

# The recipe draws no seeds. This gives it those that `warpgym train` computes (counter_random.c).
SEEDED = """
import runpy, sys
import tinker

ALL, GOLDEN, ANSWERS, TURNS = 2**64 - 1, 0x9E3779B97F4A7C15, 5, 1024

def mixed(x):
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & ALL
    x = (x ^ x >> 27) * 0x94D049BB133111EB & ALL
    return x ^ x >> 31

def bits(*words):
    state = 0
    for word in words:
        state = mixed((state ^ mixed(word + GOLDEN & ALL)) + GOLDEN & ALL)
    return state & 0x7FFFFFFF

seed, clients = int(sys.argv.pop(1)), []  # a client for each step, and how often it sampled
create = tinker.ServiceClient.create_lora_training_client_async
sample = tinker.SamplingClient.sample_async

async def create_seeded(self, *given, **named):
    return await create(self, *given, seed=seed, **named)

async def sample_seeded(self, *given, sampling_params, **named):
    if not clients or clients[-1][0] is not self:
        clients.append([self, 0])
    own = bits(seed, len(clients) - 1, ANSWERS, clients[-1][1] * TURNS)
    clients[-1][1] += 1
    params = sampling_params.model_copy(update={"seed": own})
    return await sample(self, *given, sampling_params=params, **named)

tinker.ServiceClient.create_lora_training_client_async = create_seeded
tinker.SamplingClient.sample_async = sample_seeded
runpy.run_path(sys.argv.pop(1), run_name="__main__")
"""


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--python", type=Path, default=ROOT / ".venv-gym" / "bin" / "python")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--steps", type=int, default=25)
    parser.add_argument("--answers", type=int, default=32, help="of a step: one group")
    parser.add_argument("--only", default=",".join(ARMS), help="some of them, with commas between")
    parser.add_argument("--out", type=Path, help="keeps every run's figures (JSON)")
    asked = parser.parse_args()
    probe = [asked.python, "-c", "import tinker_cookbook"]
    if not asked.python.is_file() or support.captured(probe).returncode:
        parser.error(f"{asked.python} has no tinker-cookbook: ./setup.sh gym, or name another one")
    return asked


def pairs(options):
    return [f"{key}={value}" for key, value in options.items()]


def lines_of(folder):
    lines = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


# --- both programs -------------------------------------------------------------------------------


def cookbook(asked, run, wrapped=()):
    options = {
        "model_name": run.model,
        "renderer_name": "qwen3_instruct",
        "base_url": run.tinker.url,
        "log_path": run.out,
        "learning_rate": RATE,
        "lora_rank": RANK,
        "max_tokens": MAX_TOKENS,
        "save_every": 0,
        "eval_every": 0,
        "num_groups_to_log": 0,
        "dataset_builder.url": run.judge.url,
        "dataset_builder.problems": PROBLEM,
        "dataset_builder.turns": 1,
        "dataset_builder.reward": "kevin",
        "dataset_builder.episode": '{"evaluation": {"timing": False}}',
        "dataset_builder.group_size": asked.answers,
        "dataset_builder.batch_size": 1,
        "dataset_builder.epochs": asked.steps,
    }
    others = {key: value for key, value in os.environ.items() if not key.startswith("WARPGYM_")}
    own = {"HOME": run.warpgym.environment["HOME"], "PYTHONPATH": str(ROOT / "python")}
    own |= {"TINKER_API_KEY": "tml-bench", "HF_HUB_OFFLINE": "1"}
    ended = support.captured([asked.python, *wrapped, EXAMPLE, *pairs(options)], env=others | own)
    assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-2000:]
    names = ("env/all/correct", "unclipped_grad_l2:mean", "time/total", "time/sampling")
    return [[line.get(name) for name in names] for line in lines_of(run.out)]


def cookbook_seeded(asked, run):
    return cookbook(asked, run, ("-c", SEEDED, str(run.seed)))


def train(asked, run):
    options = METHOD | {
        "train.problems": PROBLEM,
        "train.steps": asked.steps,
        "train.prompts": 1,
        "train.samples": asked.answers,
        "train.jobs": asked.answers,
        "train.seed": run.seed,
        "train.rate": RATE,
        "train.lora_rank": RANK,
        "train.lora_alpha": ALPHA,
        "train.max_tokens": MAX_TOKENS,
        "train.recompute": "false",
        "train.save_every": asked.steps,
        "gym.reward": "kevin",
    }
    if run.tinker:
        options |= {"train.backend": "tinker", "train.url": run.tinker.url}
    judge = ["--server", run.judge.url] if run.judge else []
    run.warpgym.ok("train", run.world, "--quiet", "--out", run.out, *judge, *pairs(options))
    names = ("kernel/correct_rate", "optim/grad_norm", "time/total", "time/rollout")
    return [[line.get(name) for name in names] for line in lines_of(run.out)]


# Program; whether it has a judge of its own, and a Tinker server.
ARMS = {
    "cookbook": (cookbook, True, True),
    "cookbook seeded": (cookbook_seeded, True, True),
    "train": (train, False, False),
    "train served": (train, True, False),
    "train tinker": (train, True, True),
}


class Run:
    """Folder, caches and servers of one run."""

    def __init__(self, scratch, world, seed):
        self.warpgym = support.Warpgym(scratch)
        self.world, self.seed = world, seed
        self.model = world.parent / "base" / "model"
        self.out = self.warpgym.folder / "run"
        self.judge = self.tinker = None

    def open_judge(self):
        settings = ["gym.style=terse", "gym.shots=0", "gym.token_budget=0"]
        settings += [f"prompts.path={self.world.parent / 'prompts'}"]
        words = [word for pair in settings for word in ("-s", pair)]
        words += ["--workers", "2", "--problems", self.world.parent / "problems"]
        return serving.serving(self.warpgym, *words, worker=False)

    def open_tinker(self):
        folder = self.warpgym.folder / "kept"
        return TinkerServer(self.warpgym, self.model, folder, f"tinker.alpha={ALPHA}")


def figures_of(asked, arm, world, seed):
    """Servers are up before the run's clock starts."""
    program, judged, sampled = ARMS[arm]
    with tempfile.TemporaryDirectory() as scratch, contextlib.ExitStack() as servers:
        run = Run(scratch, world, seed)
        run.judge = servers.enter_context(run.open_judge()) if judged else None
        run.tinker = servers.enter_context(run.open_tinker()) if sampled else None
        begun = time.monotonic()
        steps = program(asked, run)
        wall = time.monotonic() - begun
    assert len(steps) == asked.steps
    names = ("correct", "norm", "total", "sample")
    columns = dict(zip(names, zip(*steps, strict=True), strict=True))
    return {"arm": arm, "seed": seed, "wall": wall} | columns


# --- what is printed -----------------------------------------------------------------------------

SHARES = {"first 5": slice(5), "last 5": slice(-5, None), "all": slice(None)}


def difference(triple):
    return written([100 * value for value in triple], "{:+.1f}")


def print_shares(found):
    for name, steps in SHARES.items():
        means = {
            arm: [statistics.fmean(run["correct"][steps]) for run in runs]
            for arm, runs in found.items()
        }
        for arm, values in means.items():
            text = f"right answers, {name:7} {arm:16}{written(over_seeds(values), '{:.1%}')}"
            if "cookbook" in means and arm != "cookbook":
                less = [a - b for a, b in zip(values, means["cookbook"], strict=True)]
                text += f"; less the cookbook's {difference(over_seeds(less))} points"
            print(text)


def print_agreement(found):
    """Of runs with equal seeds: steps with as many right answers, and norms of gradients."""
    for arm, runs in found.items():
        if arm in ("cookbook", "train") or "train" not in found:
            continue
        own, other = ([run[name] for run in runs] for name in ("correct", "norm"))
        same = [
            a == b
            for run, one in zip(own, found["train"], strict=True)
            for a, b in zip(run, one["correct"], strict=True)
        ]
        apart = [
            abs(a / b - 1)
            for run, one in zip(other, found["train"], strict=True)
            for a, b in zip(run, one["norm"], strict=True)
            if a and b
        ]
        print(f"{arm:16}{sum(same)} of {len(same)} steps as those of train", end="")
        print(f"; norms of gradients differ by {statistics.median(apart):.1e}, ", end="")
        print(f"at most {max(apart):.1e}")


def typical(run, name):
    return statistics.median(run[name][1:])


def print_times(found):
    for arm, runs in found.items():
        total, sample = (
            statistics.median(typical(run, name) for run in runs) for name in ("total", "sample")
        )
        wall = statistics.median(run["wall"] for run in runs)
        text = f"{arm:16}{60 / total:4.0f} steps a minute: {total:.3f} s, of it {sample:.3f} s for "
        text += f"answers and verdicts; a run {wall:.1f} s"
        if "cookbook" in found:
            both = zip(found["cookbook"], runs, strict=True)
            ratios = [typical(one, "total") / typical(own, "total") for one, own in both]
            text += f"; {statistics.median(ratios):.2f} times the cookbook's rate"
            text += f" ({min(ratios):.2f} to {max(ratios):.2f})"
        print(text)


def kept(path):
    """The runs of earlier calls by program and seed."""
    if not path or not path.is_file():
        return {}
    runs = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {(run["arm"], run["seed"]): run for run in runs}


def main():
    asked = arguments()
    arms = [arm for arm in ARMS if arm in asked.only.split(",")]
    found, earlier = {arm: [] for arm in arms}, kept(asked.out)
    with tempfile.TemporaryDirectory() as scratch:
        world = tiny_world.make(support.Warpgym(scratch), Path(scratch) / "world")
        for seed in range(1, asked.rounds + 1):
            first = seed % len(arms)
            for arm in arms[first:] + arms[:first]:
                run = earlier.get((arm, seed)) or figures_of(asked, arm, world, seed)
                found[arm].append(run)
                shares = " ".join(f"{share:.0%}" for share in run["correct"])
                print(f"{seed:2} {arm:16}{shares}", flush=True)
                if asked.out and (arm, seed) not in earlier:
                    with asked.out.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(run) + "\n")
    print_shares(found)
    print_agreement(found)
    print_times(found)


if __name__ == "__main__":
    main()
