"""examples/tinker_cookbook: the cookbook's own RL recipe with Tinker's own SDK, on `warpgym lm
serve --tinker`, judged by `warpgym serve`. The cookbook is in .venv-gym."""

import json
import os
import subprocess

import gym_packages
import pytest
import serving
import support
import tiny_world
from tinker_serving import TinkerServer

STEPS, GROUP = 2, 8


@pytest.fixture
def world(warpgym):
    return tiny_world.make(warpgym, warpgym.folder)


def cookbook(warpgym, model, *arguments):
    """The example's exit status and output."""
    python = gym_packages.GYM / "bin" / "python"
    probe = [python, "-c", "import tinker_cookbook, chz"]
    if not python.is_file() or subprocess.run(probe, capture_output=True, check=False).returncode:
        pytest.skip("no tinker-cookbook in .venv-gym: ./setup.sh gym installs it")
    kept = {key: value for key, value in os.environ.items() if not key.startswith("WARPGYM_")}
    own = {"HOME": str(warpgym.folder), "PYTHONPATH": str(support.ROOT / "python")}
    own |= {"TINKER_API_KEY": "tml-test", "HF_HUB_OFFLINE": "1"}
    options = {"model_name": model, "renderer_name": "qwen3_instruct", "max_tokens": 120}
    options |= {"learning_rate": 0.001, "lora_rank": 4, "save_every": 0, "eval_every": 0}
    return subprocess.run(
        [
            python, support.ROOT / "examples" / "tinker_cookbook" / "train.py",
            *(f"{key}={value}" for key, value in options.items()), *arguments,
        ],
        check=False, env=kept | own, capture_output=True, text=True, timeout=support.TIMEOUT_S,
    )  # fmt: skip


def test_the_example(warpgym, world):
    model, log = world.parent / "base" / "model", warpgym.folder / "log"
    settings = ("-s", "gym.style=terse", "-s", "gym.shots=0", "-s", "gym.token_budget=0")
    paths = ("-s", f"prompts.path={world.parent / 'prompts'}", "--workers", "2")
    problems = ("--problems", world.parent / "problems")
    with (
        serving.serving(warpgym, *problems, *settings, *paths, worker=False) as server,
        TinkerServer(warpgym, model, warpgym.folder / "kept") as tinker,
    ):
        dataset = {"url": server.url, "problems": "plus,minus", "turns": 1, "reward": "kevin"}
        dataset |= {"group_size": GROUP, "batch_size": 2, "epochs": STEPS}
        options = [f"dataset_builder.{key}={value}" for key, value in dataset.items()]
        run = cookbook(warpgym, model, f"base_url={tinker.url}", f"log_path={log}", *options)
        assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
        assert server.get("/v1/evaluations").json
    lines = [json.loads(line) for line in (log / "metrics.jsonl").read_text().splitlines()]
    assert len(lines) == STEPS
    for line in lines:
        assert line["env/all/total_episodes"] == 2 * GROUP
        assert line["env/all/compiled"] > 0.5 and line["env/all/format_ok"] > 0.5
        assert 0 < line["env/all/correct"] < 1
        assert line["env/all/turn_reward"] == line["env/all/reward/total"] > 0
        assert abs(line["optim/kl_sample_train_v2"]) < 1e-3
    (last,) = (log / "checkpoints.jsonl").read_text().splitlines()[-1:]
    assert json.loads(last)["name"] == "final"
