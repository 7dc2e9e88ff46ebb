#!/usr/bin/env python3
"""Makes a dataset for SkyRL out of the gym's problems: one row a problem, with the gym's prompt.

    python3 examples/skyrl/make_dataset.py --language c --out train.parquet

Needs a server (`warpgym serve`; --url or WARPGYM_CLIENT_URL) and `pip install ./python[datasets]`.
"""

import argparse

import datasets
from warpgym.episodes import Conversation


def rows(gym, problems, language):
    for problem in problems or gym.problems():
        episode = gym.reset(problem)
        yield {
            "data_source": "warpgym",
            "prompt": episode.messages,
            "env_class": "warpgym",
            "reward_spec": {"method": "rule", "ground_truth": episode.problem["id"]},
            "extra_info": {"problem": episode.problem["id"], "language": language},
        }


def main():
    parser = argparse.ArgumentParser(description="Makes a dataset for SkyRL.")
    parser.add_argument("problems", nargs="*", help="ids; none: all that the server has")
    parser.add_argument("--url", help="of the gym's server")
    parser.add_argument("--language", help="of the answers (gym.language)")
    parser.add_argument("--out", default="train.parquet")
    arguments = parser.parse_args()
    with Conversation(arguments.url, turns=1, language=arguments.language) as gym:
        made = datasets.Dataset.from_list([*rows(gym, arguments.problems, arguments.language)])
    made.to_parquet(arguments.out)
    print(f"{len(made)} rows in {arguments.out}")


if __name__ == "__main__":
    main()
