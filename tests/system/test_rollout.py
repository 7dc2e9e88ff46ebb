"""`warpgym rollout` with a scripted policy: what it keeps, and that a death costs nothing."""

import collections
import json
import random
import shutil
import signal
import subprocess

import serving
import support
import verdicts
from fake_openai import FakeOpenAI, status, streamed

RIGHT = """<think>twice the sign</think>
<KERNEL>
```c
#include <stddef.h>
void solution(const float *x, float *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] > 0 ? x[i] : 0;
}
```
</KERNEL>"""
WRONG = RIGHT.replace("x[i] > 0 ? x[i] : 0", "x[i]")
BROKEN = RIGHT.replace("float *y", "floot *y")
NONE = "I can't."
KILLS = 6
COPY = """```c
#include <stddef.h>
void solution(const float *x, float *y, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows * cols; i++)
        y[i] = x[i];
}
```"""


def script(folder, lines, name="script.jsonl"):
    return f"scripted:{support.write_lines(folder / name, lines)}"


def relu(*answers, **more):
    return [
        {"problem": "relu", "turn": turn, "answer": answer} | more
        for turn, answer in enumerate(answers)
    ]


def trajectories(folder):
    return support.read_lines(folder / "trajectories.jsonl")


def events(folder):
    return support.read_lines(folder / "journal.jsonl")


def written(folder):
    """How many lines the journal of a run has that may be under way."""
    path = folder / "journal.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def rollout(warpgym, policy, *arguments, **options):
    arguments = ("rollout", "--policy", policy, *map(str, arguments))
    return warpgym(*arguments, **options)


def test_episode(warpgym, tmp_path):
    policy = script(tmp_path, relu(NONE, BROKEN, WRONG, RIGHT))
    out = tmp_path / "run"
    run = rollout(warpgym, policy, "--out", out, "relu")
    assert run.status == support.PASSED, run
    assert "1 of 1 episodes, 4 turns, 1 solved (100 %)" in run.out
    assert f"warpgym report {out}" in run.out
    (only,) = trajectories(out)
    turns = only["turns"]
    statuses = [turn["status"] for turn in turns]
    assert statuses == ["no_code", "compile_error", "wrong", "passed"]
    assert only["solved"] and only["best_turn"] == 3 and only["end"] == "turns"
    speedup, timing = turns[3]["speedup"], turns[3]["verdict"]["timing"]
    # On a busy machine nothing is known of it.
    assert only["best_speedup"] == speedup and (speedup > 0) == timing["meaningful"]
    if timing["meaningful"]:
        assert turns[3]["speedup_low"] <= speedup <= turns[3]["speedup_high"]
    assert only["policy"] == "scripted" and only["problem"] == "relu" and only["language"] == "c"
    assert turns[3]["thought"] == "twice the sign" and "solution" in turns[3]["code"]
    assert turns[3]["verdict"]["status"] == "passed"
    assert turns[1]["verdict"]["status"] == "compile_error"
    # The feedback on the model's last answer is in its next prompt.
    assert "floot" in turns[2]["prompt"][-1]["content"]
    assert turns[2]["prompt"][-1]["content"] != turns[3]["prompt"][-1]["content"]
    roles = [message["role"] for message in only["messages"]]
    assert roles[-7:] == ["assistant", "user"] * 3 + ["assistant"]
    gamma, returned = only["gamma"], 0
    for turn in reversed(turns):
        returned = turn["reward"] + gamma * returned
        assert abs(turn["return"] - returned) < 1e-9


def test_done_is_done(warpgym, tmp_path):
    policy = script(tmp_path, relu(WRONG, RIGHT))
    out = tmp_path / "run"
    arguments = ("--out", out, "--samples", 2, "--no-timing", "-s", "gym.turns=2", "relu")
    rollout(warpgym, policy, *arguments)
    before = (out / "trajectories.jsonl").read_bytes(), (out / "journal.jsonl").read_bytes()
    again = rollout(warpgym, policy, *arguments)
    assert again.status == support.PASSED
    assert "2 of 2 episodes (2 from before), 4 turns, 2 solved" in again.out
    after = (out / "trajectories.jsonl").read_bytes(), (out / "journal.jsonl").read_bytes()
    assert before == after
    other = rollout(warpgym, policy, *arguments[:-1], "-s", "gym.turns=3", "relu")
    assert other.status == support.USAGE and "another directory" in other.err
    assert "configuration.turns was 2, and is 3 now" in other.err
    other = rollout(warpgym, policy, *arguments[:-1], "relu", "softmax")
    assert other.status == support.USAGE and "its tasks was something else" in other.err


def test_killed(warpgym, tmp_path):
    """Killed again and again: no answer asked for twice that was there, no turn lost or doubled."""
    draw = random.Random(11)
    lines = []
    for sample in range(6):
        answers = (NONE, WRONG.replace("x[i]", f"x[i] + {sample}"), RIGHT)
        lines += relu(*answers, sample=sample, delay_ms=250)
    policy = script(tmp_path, lines)
    out = tmp_path / "run"
    arguments = (
        "rollout", "--policy", policy, "--out", str(out), "--samples", "6", "--no-timing",
        "--jobs", "3", "-s", "gym.turns=3", "relu",
    )  # fmt: skip
    for _ in range(KILLS):  # each after a few events more: the run goes on, and is never done
        enough = written(out) + draw.randrange(1, 4)
        process = warpgym.start(*arguments, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        support.wait_until(lambda enough=enough: written(out) >= enough, "events")
        assert process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait()
    warpgym.ok(*arguments)
    for left in warpgym.temporary.iterdir():  # of those that were killed
        shutil.rmtree(left)
    found = trajectories(out)
    assert sorted(item["sample"] for item in found) == list(range(6))
    for item in found:
        assert [turn["status"] for turn in item["turns"]] == ["no_code", "wrong", "passed"]
        assert f"x[i] + {item['sample']}" in item["turns"][1]["answer"]
    answers = collections.Counter(event["episode"] for event in events(out) if event.get("answer"))
    assert set(answers.values()) == {3}
    states = collections.Counter(event["episode"] for event in events(out) if event.get("state"))
    assert len(states) == 6


def test_interrupted(warpgym, tmp_path):
    policy = script(tmp_path, relu(RIGHT, delay_ms=60000))
    process = warpgym.start(
        "rollout", "--policy", policy, "--out", str(tmp_path / "run"), "relu",
        stderr=subprocess.PIPE,
    )  # fmt: skip
    support.wait_until((tmp_path / "run" / "journal.jsonl").exists, "a journal")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=support.TIMEOUT_S)
    assert process.returncode == support.INTERRUPTED
    assert b"the same command resumes" in err


def test_one_run_a_directory(warpgym, tmp_path):
    policy = script(tmp_path, relu(RIGHT, delay_ms=60000))
    out = tmp_path / "run"
    process = warpgym.start(
        "rollout", "--policy", policy, "--out", str(out), "relu", stderr=subprocess.DEVNULL
    )
    support.wait_until((out / "journal.jsonl").exists, "a journal")
    other = rollout(warpgym, policy, "--out", out, "relu")
    assert other.status == support.INFRASTRUCTURE and "another process" in other.err
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=support.TIMEOUT_S)


def test_best(warpgym, tmp_path):
    """The best is kept, is what the next run begins with, and only a faster one replaces it."""
    best = tmp_path / "best"
    policy = script(tmp_path, relu(WRONG, RIGHT))
    first = rollout(warpgym, policy, "--out", tmp_path / "a", "--best", best,
                    "-s", "gym.turns=2", "relu")  # fmt: skip
    assert "1 candidates were written" in first.out
    kept = (best / "relu" / "solution.c").read_text(encoding="utf-8")
    verdict = json.loads((best / "relu" / "verdict.json").read_text(encoding="utf-8"))
    assert verdicts.is_valid(verdict)
    assert "x[i] > 0" in kept and verdict["status"] == "passed"
    worse = RIGHT.replace(
        "for (size_t i = 0; i < n; i++)", "for (volatile size_t i = 0; i < n; i++)"
    )
    policy = script(tmp_path, relu(worse), "slow.jsonl")
    second = rollout(warpgym, policy, "--out", tmp_path / "b", "--best", best,
                     "-s", "gym.turns=1", "relu")  # fmt: skip
    assert second.status == support.PASSED and "0 candidates were written" in second.out
    assert (best / "relu" / "solution.c").read_text(encoding="utf-8") == kept
    (only,) = trajectories(tmp_path / "b")
    assert only["turns"][0]["status"] == "passed"
    prompt = "".join(message["content"] for message in only["turns"][0]["prompt"])
    assert kept.strip() in prompt
    # A run goes on with what it began with, whatever has got better meanwhile.
    (tmp_path / "a" / "trajectories.jsonl").unlink()
    again = rollout(warpgym, script(tmp_path, relu(WRONG, RIGHT)), "--out", tmp_path / "a",
                    "--best", best, "-s", "gym.turns=2", "relu")  # fmt: skip
    assert again.status == support.PASSED, again
    (only,) = trajectories(tmp_path / "a")
    assert "assistant" not in [message["role"] for message in only["turns"][0]["prompt"]]
    # What was tampered with is not begun with.
    (best / "relu" / "solution.c").write_text(kept + "\n/* */", encoding="utf-8")
    rollout(warpgym, policy, "--out", tmp_path / "c", "--best", best, "-s", "gym.turns=1", "relu")
    (only,) = trajectories(tmp_path / "c")
    prompt = "".join(message["content"] for message in only["turns"][0]["prompt"])
    assert kept.strip() not in prompt


def test_best_is_kept_across_runs(warpgym, tmp_path):
    """What a run has improved itself is no reason to refuse it, and a best that a death kept from
    being written is written by the next call."""
    best, out = tmp_path / "best", tmp_path / "run"
    policy = script(tmp_path, relu(RIGHT))
    arguments = ("--out", out, "--best", best, "--no-timing", "-s", "gym.turns=1", "relu")
    rollout(warpgym, policy, *arguments)
    kept = (best / "relu" / "solution.c").read_bytes()
    again = rollout(warpgym, policy, *arguments)
    assert again.status == support.PASSED and "(1 from before)" in again.out, again
    shutil.rmtree(best)
    (out / "trajectories.jsonl").rename(out / "whole.jsonl")
    again = rollout(warpgym, policy, *arguments)
    assert "1 candidates were written" in again.out
    assert (best / "relu" / "solution.c").read_bytes() == kept
    (only,) = trajectories(out)
    assert only == json.loads((out / "whole.jsonl").read_text()) | {"ended_at": only["ended_at"]}
    shutil.rmtree(best)
    again = rollout(warpgym, policy, *arguments)
    assert "(1 from before)" in again.out and "1 candidates were written" in again.out
    assert (best / "relu" / "solution.c").read_bytes() == kept


def test_endpoint(warpgym, tmp_path):
    """An endpoint's data about its answers is in the trajectory, and no two requests share a seed,
    in this run or another."""
    spoken = streamed(RIGHT, reasoning="first the sign", logprobs=True)
    arguments = ("--no-timing", "--samples", 2, "-s", "gym.turns=2", "-s", "policy.logprobs=true",
                 "-s", "policy.price_prompt=1", "-s", "policy.price_completion=2",
                 "relu")  # fmt: skip
    with FakeOpenAI() as endpoint:
        endpoint.plan = [status(503), spoken]
        for name in ("a", "b"):
            run = rollout(warpgym, endpoint.url, "--out", tmp_path / name, *arguments)
            assert run.status == support.PASSED and "cost" in run.out, run
        seeds = [question["seed"] for question in endpoint.questions]
    assert len(seeds) == 9 and len(set(seeds)) == 8 and seeds[0] in seeds[1:4]
    for trajectory in trajectories(tmp_path / "a"):
        assert trajectory["policy"] == "openai" and trajectory["model"] == "fake-1-snapshot"
        for turn in trajectory["turns"]:
            assert turn["answer"] == RIGHT and turn["correct"] and turn["finish"] == "stop"
            assert turn["thought"].startswith("first the sign") and turn["reasoning"]
            assert "".join(turn["tokens"]) == RIGHT and turn["logprobs"][2] == -1
            assert turn["usage"]["cached_tokens"] == 400 and turn["usage"]["cost"] > 0


def test_not_judged(warpgym, tmp_path):
    """Such answers cannot be judged here: the run says so and requests no more of them."""
    answer = "```c\n/* status=unsupported */ void solution(void) {}\n```"
    policy = script(tmp_path, relu(answer))
    out = tmp_path / "run"
    arguments = ("--jobs", 1, "--samples")
    with serving.serving(warpgym) as server:
        there = ("--out", out, "--server", server.url)
        few = rollout(warpgym, policy, *arguments, 3, *there, "relu")
        assert few.status == support.SOME_FAILED and "3 could not be judged" in few.out, few
        assert few.err.count("relu: it could not be judged") == 3
        shutil.rmtree(out)
        many = rollout(warpgym, policy, *arguments, 100, *there, "relu")
    assert many.status == support.INFRASTRUCTURE and "16 of 100 episodes" in many.out, many
    assert len(trajectories(out)) == 16


def test_iterations(warpgym, tmp_path):
    """Test-time scaling: turns + (iterations - 1) * (turns - remain) of them."""
    policy = script(tmp_path, relu(WRONG, RIGHT, WRONG, NONE, NONE))
    out = tmp_path / "run"
    scaling = ("gym.turns=3", "gym.iterations=3", "gym.remain_turns=2", "gym.select=top")
    settings = [word for setting in scaling for word in ("-s", setting)]
    rollout(warpgym, policy, "--out", out, "--no-timing", *settings, "relu")
    (only,) = trajectories(out)
    assert len(only["turns"]) == only["max_turns"] == 5
    # The second iteration keeps the best two of three: the right one, and the earlier wrong one.
    said = [message["content"] for message in only["turns"][3]["prompt"]]
    assert sum("x[i] > 0" in text for text in said) >= 1


def test_server(warpgym, tmp_path):
    answer = "```c\n/* {} */ void solution(void) {{}}\n```"
    lines = relu(*(answer.format(f"vector={name}") for name in ("wrong", "correct")))
    policy = script(tmp_path, lines)
    with serving.serving(warpgym) as server:
        run = rollout(warpgym, policy, "--out", tmp_path / "run", "--server", server.url,
                      "--samples", 5, "-s", "gym.turns=2", "relu")  # fmt: skip
        assert run.status == support.PASSED, run
        assert len(server.get("/v1/evaluations").json["evaluations"]) == 10
    found = trajectories(tmp_path / "run")
    statuses = [[turn["status"] for turn in item["turns"]] for item in found]
    assert statuses == [["wrong", "passed"]] * 5


def test_own_problems_by_their_names(warpgym, tmp_path):
    """A server is sent what it does not have; the trajectory names it as it was asked for."""
    own = tmp_path / "suite" / "twice"
    own.mkdir(parents=True)
    source = support.ROOT / "problems" / "native" / "relu"
    for name in ("problem.yaml", "reference.c"):
        text = (source / name).read_text(encoding="utf-8").replace("name: relu", "name: twice")
        (own / name).write_text(text, encoding="utf-8")
    line = {"problem": "twice", "turn": 0, "answer": "```c\n/* vector=wrong */ x\n```"}
    policy = script(tmp_path, [line])
    with serving.serving(warpgym) as server:
        run = rollout(warpgym, policy, "--out", tmp_path / "run", "--problems", own.parent,
                      "--server", server.url, "-s", "gym.turns=1", "twice")  # fmt: skip
        assert run.status == support.PASSED, run
    (only,) = trajectories(tmp_path / "run")
    assert only["problem"] == "twice"
    assert only["turns"][0]["verdict"]["problem"]["id"] == "twice"


def test_lists(warpgym, tmp_path):
    policy = script(tmp_path, [{"problem": "*", "turn": 0, "answer": NONE}])
    names = tmp_path / "names.txt"
    names.write_text("# some\nrelu\n\nsoftmax # twice\nsoftmax\n", encoding="utf-8")
    run = rollout(warpgym, policy, "--out", tmp_path / "a", "-s", "gym.turns=1", f"@{names}")
    assert "2 of 2 episodes" in run.out
    run = rollout(warpgym, policy, "--out", tmp_path / "b", "-s", "gym.turns=1", "native", "relu")
    count = len(list((support.ROOT / "problems" / "native").glob("*/problem.yaml")))
    assert f"{count} of {count} episodes" in run.out
    names.write_text("relu\nreluu\n", encoding="utf-8")
    run = rollout(warpgym, policy, "--out", tmp_path / "c", f"@{names}")
    assert run.status == support.USAGE and "names.txt:2" in run.err and "relu" in run.err


def test_refused(warpgym, tmp_path):
    policy = script(tmp_path, relu(RIGHT))
    cases = [
        (["rollout"], "name the problems"),
        (["rollout", "relu"], "give a policy"),
        (["rollout", "--policy", "ftp://x", "relu"], "ftp://x"),
        (["rollout", "--policy", policy, "reluu"], "relu"),
        (["rollout", "--policy", policy, "-s", "gym.style=none", "relu"], "none"),
        (["rollout", "--policy", policy, "-s", "gym.language=triton", "relu"], "triton"),
        (["rollout", "--policy", "scripted:/nowhere", "relu"], "/nowhere"),
    ]
    for arguments, says in cases:
        run = warpgym(*arguments, cwd=tmp_path)
        assert run.status in (support.USAGE, support.SOME_FAILED), (arguments, run)
        assert says in run.err, (arguments, run)


def test_unanswered(warpgym, tmp_path):
    """A script without that turn: the others are played, and this one the next time."""
    lines = [{"problem": "relu", "turn": 0, "answer": NONE}]
    policy = script(tmp_path, lines)
    out = tmp_path / "run"
    arguments = ("--out", out, "-s", "gym.turns=1", "relu", "softmax")
    run = rollout(warpgym, policy, *arguments)
    assert run.status == support.SOME_FAILED and "softmax" in run.err
    assert [item["problem"] for item in trajectories(out)] == ["relu"]
    script(tmp_path, [*lines, {"problem": "softmax", "turn": 0, "answer": COPY}])
    run = rollout(warpgym, policy, *arguments)
    assert run.status == support.PASSED, run
    assert [item["problem"] for item in trajectories(out)] == ["relu", "softmax"]
