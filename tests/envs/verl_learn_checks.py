"""examples/verl/train_cpu.py: verl's parts train a tiny model that samples for itself, on verdicts
of `warpgym serve`. tests/system/test_verl_real.py runs it."""

import os
import subprocess
import sys

import pytest
from conftest import EXAMPLES

pytest.importorskip("transfer_queue")

PROBLEMS = ("relu", "row_sum")
REJECTION = (
    "trainer.v1.trainer_mode=warpgym_sync",
    "+algorithm.warpgym.bounds_level=turn_geo",
    "+algorithm.warpgym.bounds_lower=0.999",
    "+algorithm.warpgym.bounds_upper=1.001",
)


@pytest.fixture(scope="module")
def judge(tmp_path_factory):
    folder = tmp_path_factory.mktemp("judge")
    command = [os.environ["TEST_WARPGYM"], "serve", "--listen", "127.0.0.1:0"]
    with (
        (folder / "log").open("w") as log,
        subprocess.Popen(
            [*command, "--queue", f"sqlite:{folder / 'queue.db'}"],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as process,
    ):
        yield process.stdout.readline().split()[3].rstrip(",")
        process.terminate()


@pytest.fixture(scope="module")
def model(judge, tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    command = [sys.executable, EXAMPLES / "tiny_model.py", "--url", judge, "--out", folder]
    subprocess.run(command, check=True, timeout=600)
    return folder


def steps_of(judge, model, out, *options):
    """The figures that it printed, a step each."""
    command = [sys.executable, EXAMPLES / "verl" / "train_cpu.py", "--url", judge, "--out", out]
    run = subprocess.run(
        [*command, "--model", model, "--steps", "12", *PROBLEMS, *options],
        check=False,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert run.returncode == 0, run.stdout + run.stderr[-4000:]
    print(run.stdout)
    steps = []
    for line in run.stdout.splitlines():
        words = line.split()
        if words[1:2] == ["right"]:
            steps.append(dict(zip(words[1::2], map(float, words[2::2]), strict=True)))
    assert len(steps) == 12
    return steps


def mean(steps, name):
    return sum(step[name] for step in steps) / len(steps)


def test_a_model_learns(judge, model, tmp_path):
    steps = steps_of(judge, model, tmp_path)
    assert mean(steps[-4:], "right") > mean(steps[:2], "right") + 0.15
    assert mean(steps[-4:], "reward") > mean(steps[:2], "reward") + 0.2
    # What the sampler says of its tokens is what the trainer finds.
    assert max(step["mismatch"] for step in steps) < 1e-4
    assert mean(steps, "rejected") == mean(steps, "excluded") == 0


def test_a_model_learns_where_turns_are_rejected(judge, model, tmp_path):
    """A sampler of another precision, so that ratios leave MRS's bounds."""
    steps = steps_of(judge, model, tmp_path, "--sampler", "bfloat16", "--set", *REJECTION)
    assert mean(steps[-4:], "right") > mean(steps[:2], "right") + 0.1
    assert all(1e-4 < step["mismatch"] < 0.05 for step in steps)
    assert 0.02 < mean(steps, "rejected") < 0.9
