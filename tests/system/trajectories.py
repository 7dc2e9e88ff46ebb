"""Synthetic trajectories (docs/reference/trajectories.md) that look real: a function of the seed.

Used by test_report.py; by hand:

    python3 tests/system/trajectories.py --problems 40 --samples 4 --turns 4 >trajectories.jsonl
"""

import argparse
import json
import math
import random
import sys

from verdicts import whole

OPERATORS = [
    ("relu", "activation"),
    ("gelu", "activation"),
    ("softmax", "normalisation"),
    ("layer_norm", "normalisation"),
    ("rms_norm", "normalisation"),
    ("matmul", "matrix product"),
    ("batched_matmul", "matrix product"),
    ("transpose", "data movement"),
    ("gather", "data movement"),
    ("cumulative_sum", "scan"),
    ("max_pool_2d", "pooling"),
    ("conv_2d", "convolution"),
    ("depthwise_conv", "convolution"),
    ("cross_entropy", "loss"),
    ("attention", "attention"),
]

CODE = """#include <math.h>
#include <stddef.h>
#include <string.h>

/* {name}, attempt {attempt}: rows are shared out among the threads, {width} values at a time. */
static float reduce(const float *x, size_t n)
{{
    float sum[{width}] = {{0}};
    for (size_t i = 0; i + {width} <= n; i += {width})
        for (size_t j = 0; j < {width}; j++)
            sum[j] += x[i + j];
    float all = 0;
    for (size_t j = 0; j < {width} && j < n; j++)
        all += sum[j];
    return all;
}}

void solution(const float *x, float *y, size_t rows, size_t cols)
{{
#pragma omp parallel for schedule(static)
    for (size_t r = 0; r < rows; r++) {{
        const float *in = x + r * cols;
        float scale = 1.0f / reduce(in, cols);
        for (size_t c = 0; c < cols; c++)
            y[r * cols + c] = in[c] * scale;
    }}
}}
"""

MESSAGES = {
    "compile_error": ("compiler", "error: use of undeclared identifier 'lanes'"),
    "wrong": ("mismatch", "y[1043]: 0.1871, where 0.2210 is expected"),
    "runtime_error": ("signal", "ended by SIGSEGV (an address that is not its own)"),
    "timeout": ("timeout", "one call took more than 10 s"),
    "violation": ("integrity", "outputs changed after the call had returned"),
    "infrastructure_error": ("judge", "the device is gone"),
}
FAILURES = ["compile_error"] * 6 + ["wrong"] * 8 + ["runtime_error"] * 3 + ["timeout"] * 2
FAILURES += ["violation"]


def verdict(status, speedup, low, high, rng):
    reference = rng.uniform(0.05, 4)
    value = {
        "status": status,
        "compiled": status not in ("compile_error", "infrastructure_error"),
        "correct": status == "passed",
        "device": "cpu",
        "stages_ms": {"queue": 1.5, "compile": rng.uniform(60, 90), "check": rng.uniform(5, 30)},
    }
    if status in ("passed", "wrong"):
        trials = rng.randint(5, 9)
        value["correctness"] = {
            "trials": trials,
            "passed": trials if status == "passed" else rng.randrange(trials),
            "max_absolute_error": rng.uniform(1e-8, 1e-6),
            "max_relative_error": rng.uniform(1e-8, 1e-6),
        }
    if speedup:
        value["timing"] = {
            "candidate": {"median": reference / speedup, "quartiles": [0.9, 1.1], "n": 40},
            "reference": {"median": reference, "quartiles": [0.9, 1.1], "n": 40},
            "speedup": speedup,
            "speedup_interval": [low, high],
            "roofline_fraction": min(0.95, 0.2 * speedup),
            "meaningful": True,
        }
    if status in MESSAGES:
        name, message = MESSAGES[status]
        value["error"] = {"class": name, "message": message, "excerpt": f"    9 | {message}\n"}
    if status == "violation":
        findings = [{"code": "H21", "evidence": MESSAGES[status][1]}]
        value["integrity"] = {"violations": findings, "warnings": []}
    return whole(value)


def outcome(rng, ease, turn, before):
    """Status and speedup of the next turn: better with time, seldom a step back."""
    if rng.random() < 0.012:
        return "infrastructure_error", 0.0
    if rng.random() < 0.03 / (turn + 1):
        return "no_code", 0.0
    chance = ease * (1 + 0.25 * turn) + (0.45 if before > 0 else 0)
    if rng.random() > chance:
        return rng.choice(FAILURES), 0.0
    if rng.random() < 0.02:
        return "passed", 0.0  # correct, not timed
    centre = math.log(before) + 0.1 if before > 0 else 2.6 * (ease - 0.4)
    return "passed", math.exp(rng.gauss(centre, 0.3))


def one_turn(rng, words, number, result):
    (name, language), (status, speedup) = words, result
    low, high = (speedup * 0.97, speedup * 1.03) if speedup else (0.0, 0.0)
    correct = status == "passed"
    excluded = status == "infrastructure_error"
    code = "" if status == "no_code" else CODE.format(name=name, attempt=number, width=2**number)
    reward = 0.3 * correct + speedup
    judged = None if status == "no_code" else verdict(status, speedup, low, high, rng)
    feedback = f"Correct, {speedup:.2f} times as fast as the reference." if correct else status
    return {
        "turn": number,
        "prompt": [{"role": "user", "content": f"Write {name} in {language}."}],
        "answer": f"<think>Rows are independent.</think>\n```{language}\n{code}```\n",
        "reasoning": "",
        "thought": "Rows are independent.",
        "code": code,
        "finish": "stop",
        "format_ok": bool(code),
        "compiled": status in ("passed", "wrong", "runtime_error", "timeout", "violation"),
        "correct": correct,
        "excluded": excluded,
        "status": status,
        "speedup": speedup,
        "speedup_low": low,
        "speedup_high": high,
        "reward": reward,
        "return": 0.0,
        "reward_parts": {
            "format": float(bool(code)),
            "correctness": 0.3 * correct,
            "speed": speedup,
        },
        "keep": True,
        "feedback": feedback + (f"\n{MESSAGES[status][1]}" if status in MESSAGES else ""),
        "usage": {"prompt_tokens": 900, "completion_tokens": 700, "cached_tokens": 0, "cost": -1},
        "logprobs": [],
        "tokens": [],
        "answer_ms": rng.uniform(2000, 9000),
        "judge_ms": rng.uniform(150, 900),
        "evaluation": f"{rng.getrandbits(128):032x}",
        "verdict": judged,
    }


def add_returns(turns, gamma):
    following = 0.0
    for turn in reversed(turns):
        if not turn["excluded"]:
            following = turn["reward"] + gamma * following
        turn["return"] = following


def one_episode(rng, problem, sample, options):
    name, level, category, ease = problem
    language, gamma = options["language"], 0.4
    turns, fastest = [], 0.0
    lost = rng.random() < options["lost"]
    for number in range(1 if lost else options["turns"]):
        status, speedup = outcome(rng, ease, number, fastest)
        if lost:
            status, speedup = "infrastructure_error", 0.0
        turns.append(one_turn(rng, (name, language), number, (status, speedup)))
        fastest = max(fastest, speedup)
        if options["stop"] and speedup >= options["stop"]:
            break
    add_returns(turns, gamma)
    right = [turn for turn in turns if turn["correct"]]
    best = max(right, key=lambda turn: turn["speedup"], default=None)
    return {
        "schema": 1,
        "episode": f"{rng.getrandbits(128):032x}",
        "problem": name,
        "problem_format": "native",
        "problem_hash": f"{hash_of(name):064x}",
        "level": level,
        "category": category,
        "sample": sample,
        "iteration": 0,
        "policy": "openai",
        "model": options["model"],
        "language": language,
        "style": "warpgym",
        "reward_preset": "kevin",
        "gamma": gamma,
        "stop_speedup": options["stop"],
        "max_turns": options["turns"],
        "solved": best is not None,
        "end": "error" if lost else "solved" if len(turns) < options["turns"] else "turns",
        "best_turn": best["turn"] if best else -1,
        "best_speedup": best["speedup"] if best else 0.0,
        "return": turns[0]["return"],
        "messages": [{"role": "user", "content": f"Write {name} in {language}."}],
        "turns": turns,
        "started_at": "2026-07-01T12:00:00Z",
        "ended_at": "2026-07-01T12:01:00Z",
    }


def hash_of(text):
    return sum(ord(letter) * 257**place for place, letter in enumerate(text))


def problem_list(count):
    """Problems with their ease, which does not depend on the policy."""
    rng = random.Random(7)
    problems = []
    for number in range(count):
        operator, category = OPERATORS[number % len(OPERATORS)]
        level = number * 3 // count + 1
        name = f"level{level}/{number + 1}_{operator}"
        ease = max(0.0, rng.betavariate(0.9, 1.4) - 0.09 * (level - 1))
        problems.append((name, f"level{level}", category, ease))
    return problems


def episodes(problems=40, samples=4, turns=4, skill=0.0, seed=1, **more):
    """A list of trajectories. `skill` is added to the ease of every problem."""
    options = {"turns": turns, "language": "c", "model": "qwen3-8b", "lost": 0.015, "stop": 0}
    options.update(more)
    rng = random.Random(seed)
    return [
        one_episode(rng, (name, level, category, ease + skill), sample, options)
        for name, level, category, ease in problem_list(problems)
        for sample in range(samples)
    ]


def write(path, items):
    path.write_text("".join(json.dumps(item) + "\n" for item in items))
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, standard in (("problems", 40), ("samples", 4), ("turns", 4), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=standard)
    parser.add_argument("--skill", type=float, default=0.0)
    parser.add_argument("--stop", type=float, default=0.0)
    parser.add_argument("--model", default="qwen3-8b")
    parser.add_argument("--language", default="c")
    for item in episodes(**vars(parser.parse_args())):
        print(json.dumps(item))


if __name__ == "__main__":
    sys.exit(main())
