#!/usr/bin/env python3
"""Trains a model on the gym's problems with tinker-cookbook's own RL recipe.

    TINKER_API_KEY=… WARPGYM_CLIENT_URL=http://gpu-host:10907 \\
        python3 examples/tinker_cookbook/train.py model_name=Qwen/Qwen3-8B renderer_name=qwen3

Options are those of `tinker_cookbook.rl.train.Config`, and as `dataset_builder.turns=4` those of
`warpgym.tinker_cookbook.KernelDatasetBuilder`. Needs a server (`warpgym serve`), a Tinker service
(TINKER_BASE_URL, or `base_url=…`) and `pip install "./python[tinker-cookbook]"`.
"""

import asyncio
import sys

import chz
from chz.blueprint import Reference
from tinker_cookbook import cli_utils
from tinker_cookbook.rl import train
from tinker_cookbook.rl.rollout_strategy import MinViableGroup
from warpgym.tinker_cookbook import KernelDatasetBuilder

DEFAULTS = {
    "recipe_name": "warpgym",
    "dataset_builder": KernelDatasetBuilder,
    "dataset_builder.model_name_for_tokenizer": Reference("model_name"),
    "dataset_builder.renderer_name": Reference("renderer_name"),
    "learning_rate": 4e-5,
    "max_tokens": 8192,
    "log_path": cli_utils.runs_path("warpgym"),
    # What could not be judged is played again, three times in a group, and left out then. The
    # cookbook's default ends the run instead.
    "rollout_error_tolerance": MinViableGroup(min_successful=2),
}


def main():
    blueprint = chz.Blueprint(train.Config).apply(DEFAULTS)
    config = blueprint.make_from_argv(sys.argv[1:])
    cli_utils.check_log_dir(config.log_path, behavior_if_exists="resume")
    asyncio.run(train.main(config))


if __name__ == "__main__":
    main()
