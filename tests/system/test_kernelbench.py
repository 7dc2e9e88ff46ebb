"""KernelBench's answers: found by their names, judged, counted as its own analysis counts."""

import json
import math
import os
import re
import signal

import pytest
import verdicts
from support import SOME_FAILED, USAGE, kernelbench_module, read_lines, wait_until, write

ANSWER = """import torch


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(width))

    def forward(self, x):
        return {formula} + self.weight
"""
RIGHT, WRONG = ANSWER.format(formula="x.square()"), ANSWER.format(formula="x")
THRESHOLDS = (0, 0.5, 0.8, 1, 1.5, 2)


@pytest.fixture
def checkout(tmp_path):
    """Three problems of level 1 and one of level 2, where KernelBench has them; and a level 3."""
    folder = tmp_path / "KernelBench"
    for name in ("level1/1_Square", "level1/2_Also", "level1/12_M", "level2/1_Two", "level3/1_X"):
        write(folder / "KernelBench" / f"{name}.py", kernelbench_module())
    return folder


def name_of(level, problem, sample=0):
    return f"level_{level}_problem_{problem}_sample_{sample}_kernel.py"


def groups_of(run):
    """Level, or all of it, to its figures by name, p and k."""
    def figures(owner):
        return {
            (one["name"], one.get("p"), one.get("k")): one["value"]
            for one in owner["figures"] if not one.get("judged")
        }  # fmt: skip

    return {group["name"]: figures(group) for group in run["groups"]} | {"all": figures(run)}


# --- figures --------------------------------------------------------------------------------------


def judged(level, problem, sample, status="passed", *, speedup=None, text="0"):
    """What `eval` writes of one answer."""
    part = {
        "schema": 1,
        "problem": {"id": f"level{level}/{problem}", "format": "torch", "hash": "0" * 64},
        "candidate": {
            "path": f"runs/x/{name_of(level, problem, sample)}",
            "language": "torch",
            "hash": text * 64,
        },
        "status": status,
        "compiled": status != "compile_error",
        "correct": status == "passed",
    }
    if speedup:
        part["timing"] = {
            "candidate": {"median": 1.0, "quartiles": [1.0, 1.0], "n": 9},
            "reference": {"median": speedup, "quartiles": [speedup, speedup], "n": 9},
            "speedup": speedup,
            "speedup_interval": [speedup, speedup],
            "meaningful": True,
        }
    return verdicts.whole(part)


# Level 1 has three problems, and one of them has no answer at all. Level 2 has one.
JUDGED = [
    judged(1, 1, 0, speedup=1.0),  # not more than once as fast
    judged(1, 1, 1, speedup=4.0),
    judged(1, 12, 0, "wrong"),
    judged(1, 12, 1, speedup=1.6),
    judged(2, 1, 0, speedup=0.8),
    judged(2, 1, 1, "compile_error"),
]


def kernelbench_analysis(lines, problems):
    """fast_p and the mean as the analysis of KernelBench defines them: of the
    sample 0 of all problems of a level, those whose ratio is above p."""
    ratios = [
        one["timing"]["speedup"] for one in lines
        if "_sample_0_" in one["candidate"]["path"] and one["correct"]
    ]  # fmt: skip
    fast = {p: sum(ratio > p for ratio in ratios) / problems for p in THRESHOLDS}
    return fast, math.prod(ratios) ** (1 / len(ratios))


def test_figures_are_those_of_kernelbench(warpgym, checkout):
    write(warpgym.folder / "v.jsonl", "".join(json.dumps(one) + "\n" for one in JUDGED))
    shown = warpgym.ok(
        "report", "v.jsonl", "--problems", checkout, "--by", "level", "--json", "--k", "1,2"
    )
    (run,) = json.loads(shown.out)["runs"]
    assert run["problems"] == {"asked": 4, "tried": 3}  # without level 3, which nothing answers
    groups = groups_of(run)
    assert groups.keys() == {"level1", "level2", "all"}
    # By hand: one of three is right, exactly as fast as the reference.
    expected = {0: 1 / 3, 0.5: 1 / 3, 0.8: 1 / 3, 1: 0, 1.5: 0, 2: 0}
    for p, value in expected.items():
        assert groups["level1"]["fast_p_first", p, None] == pytest.approx(value)
    expected = {0: 1, 0.5: 1, 0.8: 0, 1: 0, 1.5: 0, 2: 0}
    for p, value in expected.items():
        assert groups["level2"]["fast_p_first", p, None] == pytest.approx(value)
    assert groups["level1"]["speedup_first", None, None] == pytest.approx(1.0)
    assert groups["level2"]["speedup_first", None, None] == pytest.approx(0.8)
    # The best of two samples: 4, nothing, 1.6.
    assert groups["level1"]["fast_p_problems", 1.5, None] == pytest.approx(2 / 3)
    assert groups["level1"]["fast_p_problems", 2, None] == pytest.approx(1 / 3)
    # Level 1: 2 of 2, 0 of 2, 1 of 2.
    assert groups["level1"]["pass_at_k", 0, 1] == pytest.approx((1 + 0 + 0.5) / 3)
    assert groups["level1"]["pass_at_k", 0, 2] == pytest.approx((1 + 0 + 1) / 3)
    for level, problems in (("level1", 3), ("level2", 1)):
        lines = [one for one in JUDGED if one["problem"]["id"].startswith(level)]
        fast, mean = kernelbench_analysis(lines, problems)
        for p in THRESHOLDS:
            assert groups[level]["fast_p_first", p, None] == pytest.approx(fast[p])
        assert groups[level]["speedup_first", None, None] == pytest.approx(mean)


def test_a_later_verdict_on_the_same_sample_is_the_one_that_counts(warpgym, checkout):
    lines = [
        judged(1, 1, 0, "infrastructure_error"), judged(1, 1, 0, speedup=3.0, text="1"), *JUDGED[2:]
    ]  # fmt: skip
    write(warpgym.folder / "v.jsonl", "".join(json.dumps(one) + "\n" for one in lines))
    shown = warpgym.ok("report", "v.jsonl", "--problems", checkout, "--by", "level", "--json")
    (run,) = json.loads(shown.out)["runs"]
    assert run["samples"]["found"] == 5 and run["samples"]["lost"] == 0
    assert run["episodes"]["repeated"] == 1
    assert groups_of(run)["level1"]["fast_p_first", 2, None] == pytest.approx(1 / 3)


def test_answers_of_other_names_are_samples_in_their_order(warpgym):
    lines = [judged(1, 1, 0, speedup=3.0), judged(1, 1, 0, "wrong"), judged(1, 1, 0, speedup=2.0)]
    for line, (name, text) in zip(lines, (("b", "b"), ("a", "a"), ("b", "c")), strict=True):
        line["candidate"] |= {"path": f"{name}.py", "hash": text * 64}
    write(warpgym.folder / "v.jsonl", "".join(json.dumps(one) + "\n" for one in lines))
    (run,) = json.loads(warpgym.ok("report", "v.jsonl", "--json").out)["runs"]
    (problem,) = run["by_problem"]
    assert problem["speedups"] == [3.0, None, 2.0]


def test_the_page_of_verdicts_escapes_what_candidates_say(warpgym):
    hostile = "</script><img src=x onerror=alert(1)>"
    line = judged(1, 1, 0, "wrong")
    line["error"] = {"class": "mismatch", "message": hostile, "excerpt": hostile}
    line["candidate"]["path"] = f"{hostile}.py"
    write(warpgym.folder / "v.jsonl", json.dumps(line) + "\n")
    warpgym.ok("report", "v.jsonl", "--html", "v.html")
    page = (warpgym.folder / "v.html").read_text()
    assert "onerror" in page and "<img" not in page
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", page)


def test_the_page_shows_a_text_only_while_it_is_the_judged_one(warpgym):
    line = judged(1, 1, 0)
    line["candidate"] |= {"path": "secret.py", "hash": "0" * 64}
    write(warpgym.folder / "secret.py", "another text")
    write(warpgym.folder / "v.jsonl", json.dumps(line) + "\n")
    warpgym.ok("report", "v.jsonl", "--html", "v.html")
    assert "another text" not in (warpgym.folder / "v.html").read_text()


# --- the one line ---------------------------------------------------------------------------------


@pytest.fixture
def answers(tmp_path):
    folder = tmp_path / "runs" / "qwen"
    for level, problem, sample, text in (
        (1, 1, 0, RIGHT), (1, 1, 1, WRONG), (1, 12, 0, WRONG), (2, 1, 0, RIGHT), (2, 1, 1, RIGHT)
    ):  # fmt: skip
        write(folder / name_of(level, problem, sample), text)
    write(folder / "generation_config.yaml", "level: 1\n")
    write(folder / "eval_results.json", '{"1": [{"sample_id": 0, "correctness": false}]}\n')
    return folder


def eval_all(warpgym, checkout, *arguments, expect=SOME_FAILED):
    return warpgym(
        "eval", "--no-timing", "--problems", checkout, *arguments, expect=expect, timeout=600
    )


def table_rows(text):
    """The summary: a figure to its cells."""
    lines = text[text.rindex("\nfigure") :].splitlines()
    return {cells[0]: cells[1:] for cells in (re.split(r" {2,}", line.strip()) for line in lines)}


def test_one_line_judges_prints_writes_a_page_and_goes_on(warpgym, checkout, answers):
    shown = eval_all(warpgym, checkout, answers, "--html", "page.html")
    lines = read_lines(answers / "verdicts.jsonl")
    found = {(one["problem"]["id"], one["candidate"]["path"][-18:]): one["status"] for one in lines}
    assert found == {
        ("level1/1", "sample_0_kernel.py"): "passed",
        ("level1/1", "sample_1_kernel.py"): "wrong",
        ("level1/12", "sample_0_kernel.py"): "wrong",
        ("level2/1", "sample_0_kernel.py"): "passed",
        ("level2/1", "sample_1_kernel.py"): "passed",
    }
    rows = table_rows(shown.out)
    assert rows["figure"] == ["level1", "level2", "all"]
    assert rows["problems"] == ["3", "1", "4"]
    assert rows["correct, sample 0"] == ["33.3 %", "100.0 %", "50.0 %"]
    assert rows["fast_1, sample 0"] == ["0.0 %", "0.0 %", "0.0 %"]  # not timed
    assert rows["pass@1"] == ["16.7 %", "100.0 %", "37.5 %"]
    page = (warpgym.folder / "page.html").read_text()
    assert "level1/12" in page and "x.square()" in page

    again = eval_all(warpgym, checkout, answers, "--html", "again.html")
    assert "5 already judged" in again.err
    assert table_rows(again.out) == rows
    assert read_lines(answers / "verdicts.jsonl") == lines

    later = warpgym.ok("report", answers, "--problems", checkout, "--by", "level")
    assert table_rows(later.out) == rows


def test_killed_it_loses_only_what_was_in_flight(warpgym, checkout, answers):
    kept = answers / "verdicts.jsonl"
    process = warpgym.start("eval", "--no-timing", "--problems", checkout, answers)
    wait_until(lambda: kept.exists() and kept.read_bytes().count(b"\n") >= 2, "two verdicts")
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    before = kept.read_bytes()
    done = before.count(b"\n")
    again = eval_all(warpgym, checkout, answers)
    assert f"{done} already judged" in again.err
    assert kept.read_bytes().startswith(before[: before.rindex(b"\n") + 1])
    paths = [one["candidate"]["path"] for one in read_lines(kept)]
    assert len(paths) == len(set(paths)) == 5


def test_its_results_file_stands_for_its_run(warpgym, checkout, answers):
    out = warpgym.folder / "v.jsonl"
    eval_all(warpgym, checkout, "--out", out, answers / "eval_results.json")
    assert len(read_lines(out)) == 5 and not (answers / "verdicts.jsonl").exists()


def test_one_answer_has_no_summary_and_leaves_no_file(warpgym, checkout, answers):
    shown = eval_all(warpgym, checkout, answers / name_of(1, 1), expect=0)
    assert "level1/1 " in shown.out and "figure" not in shown.out
    assert not (answers / "verdicts.jsonl").exists()


def test_an_answer_to_no_problem_is_named_and_the_others_are_judged(warpgym, checkout, answers):
    write(answers / name_of(1, 77), RIGHT)
    shown = eval_all(warpgym, checkout, answers, expect=USAGE)
    assert "level1/77" in shown.err and len(read_lines(answers / "verdicts.jsonl")) == 5
