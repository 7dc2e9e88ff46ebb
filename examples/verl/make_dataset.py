#!/usr/bin/env python3
"""Makes a dataset for verl out of the gym's problems: one row a problem, with the gym's own prompt.

    python3 examples/verl/make_dataset.py --language c --out train.parquet

Needs a server (`warpgym serve`; --url or WARPGYM_CLIENT_URL) and `pip install ./python[datasets]`.
"""

import argparse

import datasets
from warpgym.episodes import Conversation


def rows(gym, problems, shots):
    for problem in problems or gym.problems():
        episode = gym.reset(problem, prompt={"shots": shots})
        yield {
            "data_source": "warpgym",
            "prompt": episode.messages,
            "ability": "kernel_optimization",
            "reward_model": {"style": "rule", "ground_truth": episode.problem["id"]},
            "extra_info": {"entry_point": "Model", "hash": episode.problem["hash"]},
        }


def main():
    parser = argparse.ArgumentParser(description="Makes a dataset for verl.")
    parser.add_argument("problems", nargs="*", help="ids; none: all that the server has")
    parser.add_argument("--url", help="of the gym's server")
    parser.add_argument("--language", help="of the answers (gym.language)")
    parser.add_argument("--shots", type=int, default=1, help="worked examples in each prompt")
    parser.add_argument("--out", default="train.parquet")
    arguments = parser.parse_args()
    with Conversation(arguments.url, turns=1, language=arguments.language) as gym:
        made = datasets.Dataset.from_list([*rows(gym, arguments.problems, arguments.shots)])
    made.to_parquet(arguments.out)
    print(f"{len(made)} rows in {arguments.out}")


if __name__ == "__main__":
    main()
