#!/usr/bin/env python3
"""Trains a model by TRL's GRPOTrainer against the gym: README.md.

    python3 examples/trl/train.py --model models/tiny relu row_sum
    python3 examples/trl/train.py --model models/tiny-submit --turns 2 relu row_sum

Needs a server (`warpgym serve`; --url or WARPGYM_CLIENT_URL), trl, and jmespath with --turns.
"""

import argparse

import warpgym.trl
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer


def configuration(arguments):
    return GRPOConfig(
        output_dir=arguments.out,
        max_steps=arguments.steps,
        learning_rate=arguments.rate,
        lr_scheduler_type="constant",
        per_device_train_batch_size=arguments.batch,
        num_generations=arguments.samples,
        max_completion_length=arguments.tokens,
        max_tool_calling_iterations=arguments.turns,
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        use_cpu=arguments.cpu,
        bf16=not arguments.cpu,
        disable_tqdm=True,
        seed=arguments.seed,
    )


def main():
    parser = argparse.ArgumentParser(description="Trains a model by TRL against the gym.")
    parser.add_argument("problems", nargs="*", help="ids; none: all that the server has")
    parser.add_argument("--url", help="of the gym's server")
    parser.add_argument("--model", default="models/tiny")
    parser.add_argument("--language", default="c")
    parser.add_argument("--turns", type=int, default=0, help="0: no environment")
    parser.add_argument("--reward", help="a preset (gym.reward)")
    parser.add_argument("--steps", type=int, default=14)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--samples", type=int, default=16, help="answers to each prompt of a step")
    parser.add_argument("--tokens", type=int, default=256, help="of a completion")
    parser.add_argument("--rate", type=float, default=6e-4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--out", default="runs/trl")
    arguments = parser.parse_args()
    options = {"language": arguments.language, "reward": arguments.reward}
    rows = [*warpgym.trl.rows(arguments.url, arguments.problems or None, **options)]
    if arguments.turns:
        # The environment writes the task: the prompt is what TRL appends it to.
        rows = [row | {"prompt": [{"role": "user", "content": ""}]} for row in rows]
        options["turns"] = arguments.turns
        more = {
            "reward_funcs": warpgym.trl.return_reward,
            "environment_factory": warpgym.trl.environment(arguments.url, **options),
        }
    else:
        more = {"reward_funcs": warpgym.trl.kernel_reward(arguments.url, **options)}
    trainer = GRPOTrainer(
        arguments.model,
        args=configuration(arguments),
        train_dataset=Dataset.from_list(rows),
        **more,
    )
    trainer.train()
    trainer.save_model()
    for step in trainer.state.log_history[:-1]:
        figures = {key: step[f"kernel/{key}"] for key in ("correct", "excluded")}
        figures |= {"reward": step["reward"], "seconds": step["step_time"]}
        print(step["step"], *(f"{key} {value:.2f}" for key, value in figures.items()))


if __name__ == "__main__":
    main()
