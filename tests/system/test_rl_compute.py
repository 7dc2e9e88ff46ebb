"""`warpgym rl compute`: the same figures as warpgym.rl on the same rows, and each bad line as one
sentence."""

import json
import math
import sys

import numpy as np
import pytest
import rl_formulas as formulas
from support import CHECKOUT, WARPGYM, captured
from verdicts import whole

sys.path.insert(0, str(CHECKOUT / "python"))

from warpgym import rl  # noqa: E402
from warpgym.rl import library  # noqa: E402


@pytest.fixture(autouse=True)
def own_library(monkeypatch):
    monkeypatch.setenv("WARPGYM_RL_LIBRARY", str(CHECKOUT / "build" / library.NAME))


def plain(value):
    return None if isinstance(value, float) and math.isnan(value) else value


def lines_of(rows):
    """Prompts and rollouts by name, as a trainer has them."""
    return [
        {
            "prompt": f"problem {rows.prompt[row]}",
            "rollout": f"r{rows.rollout[row]}",
            "turn": rows.turn[row],
            "reward": plain(rows.reward[row]),
            "correct": rows.correct[row],
            "speedup": plain(rows.speedup[row]),
            "coverage": plain(rows.coverage[row]),
            "mask": rows.mask[row].tolist(),
            "trained": rows.trained[row].tolist(),
            "sampled": rows.sampled[row].tolist(),
        }
        for row in range(len(rows))
    ]


def write(path, lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def call(*words, text=""):
    return captured([WARPGYM, "rl", "compute", *map(str, words)], input=text)


def compute(*words, lines=()):
    run = call(*words, text="".join(json.dumps(line) + "\n" for line in lines))
    assert run.returncode == 0, run.stderr
    return [json.loads(line) for line in run.stdout.splitlines()]


@pytest.mark.parametrize("method", ["trloo", "drkernel", "kernel_rl_original"])
def test_same_as_the_library(method, tmp_path):
    rows = formulas.draw(7)
    order = np.random.default_rng(1).permutation(len(rows))
    lines = [lines_of(rows)[row] for row in order]
    half = len(lines) // 2
    files = [write(tmp_path / "a.jsonl", lines[:half]), write(tmp_path / "b.jsonl", lines[half:])]
    metrics = tmp_path / "metrics.json"
    found = compute(
        *files,
        "--metrics",
        metrics,
        "--step",
        "5",
        "-s",
        f"train.method={method}",
        "-s",
        "train.seed=3",
        "-s",
        "gym.gamma=0.9",
        "-s",
        "train.bounds_lower=0.9",
        "-s",
        "train.bounds_upper=1.1",
    )
    columns = {name: [line[name] for line in lines] for name in lines[0]}
    step = rl.step(
        columns["reward"],
        columns["prompt"],
        columns["rollout"],
        columns["turn"],
        correct=columns["correct"],
        speedups=columns["speedup"],
        coverages=columns["coverage"],
        **{name: columns[name] for name in ("mask", "trained", "sampled")},
        method=method,
        bounds_lower=0.9,
        bounds_upper=1.1,
        gamma=0.9,
        seed=3,
        step=5,
    )
    assert [line["prompt"] for line in found] == columns["prompt"]
    assert [line["rollout"] for line in found] == columns["rollout"]
    assert [line["turn"] for line in found] == columns["turn"]
    assert [line["reward"] for line in found] == columns["reward"]
    assert np.allclose([line["return"] for line in found], step.returns, rtol=1e-12)
    assert np.allclose([line["advantage"] for line in found], step.advantages, rtol=1e-12)
    for row, line in enumerate(found):
        assert line["drop"] == [why for why in rl.names("drop") if step.dropped(why)[row]]
        assert line["kept"] == step.kept[row].tolist()
        assert np.allclose(line["token_advantages"], step.token_advantages[row], rtol=1e-12)
        assert np.allclose(line["weights"], step.weights[row], rtol=1e-12)
        assert np.allclose(line["importance"], step.importance[row], rtol=1e-12)
    assert json.loads(metrics.read_text()) == pytest.approx(step.metrics, rel=1e-12)
    assert any(line["drop"] for line in found) == (method != "kernel_rl_original")


def test_rows_alone():
    found = compute("-", lines=[{"prompt": 1, "reward": r} for r in (2, 0, 0, 0)])
    assert [line["advantage"] for line in found] == pytest.approx([2, -2 / 3, -2 / 3, -2 / 3])
    assert found[0] == {"prompt": 1, "reward": 2, "return": 2, "advantage": 2, "drop": []}


def test_a_row_without_a_reward_is_paid():
    verdict = whole({"status": "passed", "compiled": True, "correct": True})
    broken = whole({"status": "infrastructure_error", "compiled": False, "correct": False})
    lines = [
        {"prompt": 1, "verdict": verdict},
        {"prompt": 1, "verdict": broken},
        {"prompt": 1, "verdict": None},
        {"prompt": 1, "facts": {"correct": True, "speedup": 5.0}},
    ]
    found = compute("-", "-s", "gym.reward=drkernel", lines=lines)
    assert [line["reward"] for line in found] == [0.5, None, 0, 2]
    assert found[1]["drop"] == ["excluded"]


def test_trajectories():
    def turn(number, reward, **more):
        base = {"turn": number, "reward": reward, "excluded": False, "correct": reward > 0}
        return base | {"speedup": 0, "reward_parts": {"coverage": 0.0}} | more

    lines = [
        {"problem": "relu", "turns": [turn(0, 0), turn(1, 1.5, reward_parts={"coverage": 0.1})]},
        {"problem": "relu", "turns": [turn(0, 0.5), turn(1, 0, excluded=True)]},
        {"problem": "gemm", "turns": [turn(0, 0.3)]},
    ]
    found = compute(
        "-",
        "-s",
        "train.filter=none",
        "-s",
        "gym.gamma=0.5",
        "-s",
        "train.coverage=turn",
        lines=lines,
    )
    assert [line["rollout"] for line in found] == [0, 0, 1, 1, 2]
    assert [line["drop"] for line in found] == [[], ["coverage"], [], ["excluded"], []]
    assert [line["return"] for line in found] == [0, 0, 0.5, 0, 0.3]
    assert [line["advantage"] for line in found] == [-0.5, 0, 0.5, 0, 0.3]


GOOD = {"prompt": 1, "reward": 1}


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ([], "there is no row; write one JSON object on each line"),
        (["[1]"], "standard input:1: a line is an object"),
        (["{"], "standard input:1:"),
        ([{"reward": 1}], "standard input:1: a row has a 'prompt'"),
        ([{"prompt": 1}], "a row has a 'reward' (null: it could not be judged), or a 'verdict'"),
        ([GOOD | {"rewrd": 2}], "did you mean 'reward'"),
        ([GOOD | {"reward": "1"}], "'reward' must be a number, or null"),
        ([GOOD | {"prompt": 1.5}], "'prompt' must be a whole number"),
        ([GOOD, GOOD | {"prompt": "a"}], "input:2: 'prompt' must be a number in all rows"),
        ([GOOD | {"prompt": "a"}, GOOD], "input:2: 'prompt' must be a number in all rows"),
        ([GOOD | {"prompt": -1}], "row 0: prompt is -1; number them from 0"),
        ([GOOD | {"rollout": 0, "turn": "a"}], "'turn' must be a whole number"),
        ([GOOD | {"correct": 2}], "'correct' must be true or false"),
        ([GOOD | {"trained": 1}], "'trained' must be a list, with a value for each token"),
        ([GOOD | {"trained": [1, "a"]}], "value 1 of 'trained' must be a number"),
        ([GOOD | {"mask": [1, 2]}], "value 1 of 'mask' must be true or false"),
        ([GOOD | {"mask": [1], "trained": [1, 2]}], "'trained' has 2 values, and the row 1 tokens"),
        ([GOOD | {"trained": [None]}], "row 0, token 0: trained is nan"),
        ([GOOD, GOOD | {"turn": 1}], "input:2: 'turn' is here, and not in the rows before"),
        ([GOOD | {"turn": 1}, GOOD], "input:2: 'turn' is missing, and there in the rows before"),
        ([GOOD | {"turn": 1}], "turns are given, but not which rollout"),
        ([{"prompt": 1, "facts": {"corect": True}}], "did you mean 'correct'"),
        ([{"prompt": 1, "verdict": {"schema": 1}}], "'id' is missing"),
        ([{"turns": [{}]}], "input:1: a trajectory names its 'problem'"),
        ([{"turns": [7], "problem": "relu"}], "input:1: turn 0: a turn is an object with a reward"),
        (["\0"], "standard input:1:"),
    ],
)
def test_bad_input(lines, sentence):
    text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    run = call("-", text=text)
    assert run.returncode == 2
    assert sentence in run.stderr
    assert run.stdout == ""
    assert run.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "at least one file of rows"),
        (["nowhere.jsonl"], "nowhere.jsonl"),
        (["-", "-s", "train.estimator=trlo"], "did you mean 'trloo'"),
        (["-", "-s", "train.bounds_level=turn"], "compare 'trained', which is not given"),
        (["-", "--step", "-1"], "--step"),
        (["-", "--metrics", "/nowhere/m.json"], "/nowhere/m.json"),
    ],
)
def test_bad_usage(words, sentence):
    run = call(*words, text=json.dumps(GOOD) + "\n")
    assert run.returncode != 0
    assert sentence in run.stderr
    assert run.stdout == ""


def test_a_line_is_bounded():
    line = '{"prompt": 1, "reward": 1, "trained": [' + "-1," * (23 << 20) + "-1]}\n"
    run = call("-", text=line)
    assert run.returncode != 0
    assert "standard input:1" in run.stderr
