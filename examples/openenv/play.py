#!/usr/bin/env python3
"""Plays one episode at an OpenEnv server of the gym, with answers from files, one a turn.

    python3 -m warpgym.openenv --url http://gpu-host:10907 --port 8000 &
    python3 examples/openenv/play.py --env http://localhost:8000 softmax first.md second.md

Needs `pip install ./python[openenv]`.
"""

import argparse
from pathlib import Path

from warpgym.openenv import KernelAction, KernelEnv


def main():
    parser = argparse.ArgumentParser(description="Plays one episode at an OpenEnv server.")
    parser.add_argument("--env", default="http://localhost:8000", help="address of that server")
    parser.add_argument("problem", help="an id: warpgym problem list")
    parser.add_argument("answers", nargs="+", type=Path, help="what the model says, turn by turn")
    arguments = parser.parse_args()

    with KernelEnv(base_url=arguments.env).sync() as env:
        result = env.reset(problem=arguments.problem, turns=len(arguments.answers))
        print(result.observation.text)
        for path in arguments.answers:
            if result.done:
                break
            result = env.step(KernelAction(answer=path.read_text(encoding="utf-8")))
            observation = result.observation
            print(f"{path}: {observation.status}, {observation.speedup:.2f} times as fast, "
                  f"reward {result.reward:.2f}")  # fmt: skip
            print(observation.text)


if __name__ == "__main__":
    main()
