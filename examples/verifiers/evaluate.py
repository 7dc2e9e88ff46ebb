#!/usr/bin/env python3
"""Evaluates a model on the gym's problems through verifiers.

    MODEL_KEY=… python3 examples/verifiers/evaluate.py --model http://localhost:8000/v1 \\
        --name my-model --rollouts 4 softmax layer_norm

As `vf-eval warpgym-kernels` does it with more options. Needs a server (`warpgym serve`; --url or
WARPGYM_CLIENT_URL) and `pip install ./python[verifiers]`.
"""

import argparse
import asyncio

import verifiers.v1 as vf
from warpgym.verifiers import load_environment


async def evaluate(arguments):
    env = load_environment(
        url=arguments.url, problems=arguments.problems, turns=arguments.turns, reward="kevin"
    )
    client = vf.EvalClientConfig(base_url=arguments.model, api_key_var="MODEL_KEY")
    sampling = vf.SamplingConfig(temperature=1.0)
    ctx = vf.ModelContext(model=arguments.name, client=client, sampling=sampling)
    async with env.serving():
        slots = [slot for task in env.taskset for slot in env.slots(task, arguments.rollouts)]
        episodes = await asyncio.gather(*(env.run_slot(slot, ctx) for slot in slots))
    for episode in episodes:
        if not episode.ok:
            print(f"{episode.task.key}: failed: {episode.errors[-1].message}")
            continue
        (trace,) = episode.traces
        correct, speedup = trace.metrics["correct"], trace.metrics["speedup"]
        print(f"{episode.task.key}: reward {trace.reward:.2f}, correct {correct:.0f}, "
              f"{speedup:.2f} times as fast")  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description="Evaluates a model on the gym's problems.")
    parser.add_argument("problems", nargs="*", help="ids; none: all that the server has")
    parser.add_argument("--url", help="of the gym's server")
    parser.add_argument("--model", required=True, help="address of the model's endpoint")
    parser.add_argument("--name", default="default", help="of the model")
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--rollouts", type=int, default=1, help="of each problem")
    asyncio.run(evaluate(parser.parse_args()))


if __name__ == "__main__":
    main()
