#!/usr/bin/env python3
"""Plays one episode of the gym with any model that has an OpenAI-compatible endpoint.

    python3 examples/gymnasium/play.py --model http://localhost:8000/v1 --name my-model softmax

Needs a server (`warpgym serve`; --url or WARPGYM_CLIENT_URL), `pip install ./python[gym]`, and for
models that want one a key in MODEL_KEY.
"""

import argparse
import json
import os
import urllib.request

import gymnasium
import warpgym.env  # noqa: F401 - registers warpgym/Kernels-v0


def ask(endpoint, name, messages):
    """The model's answer."""
    headers = {"Content-Type": "application/json"}
    if "MODEL_KEY" in os.environ:
        headers["Authorization"] = f"Bearer {os.environ['MODEL_KEY']}"
    body = json.dumps({"model": name, "messages": messages}).encode()
    request = urllib.request.Request(f"{endpoint}/chat/completions", body, headers)
    with urllib.request.urlopen(request, timeout=600) as response:
        return json.load(response)["choices"][0]["message"]["content"]


def main():
    parser = argparse.ArgumentParser(description="Plays one episode of the gym.")
    parser.add_argument("problem", help="an id: warpgym problem list")
    parser.add_argument("--url", help="of the gym's server")
    parser.add_argument("--model", required=True, help="address of the model's endpoint")
    parser.add_argument("--name", default="default", help="of the model")
    parser.add_argument("--turns", type=int, default=4)
    arguments = parser.parse_args()

    env = gymnasium.make("warpgym/Kernels-v0", url=arguments.url, turns=arguments.turns)
    _, info = env.reset(options={"problem": arguments.problem})
    over = False
    while not over:
        answer = ask(arguments.model, arguments.name, info["messages"])
        _, reward, terminated, truncated, info = env.step(answer)
        over = terminated or truncated
        print(f"turn {info['turn']:.0f}: {info['status']}, {info['speedup']:.2f} times as fast, "
              f"reward {reward:.2f}")  # fmt: skip
    print("returns:", " ".join(f"{one:.2f}" for one in info["returns"]))
    env.close()


if __name__ == "__main__":
    main()
