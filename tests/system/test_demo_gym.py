"""The gym's demo, as the README types it: a script plays twenty problems, the report opens."""

import json

import browser
import pytest
from support import CHECKOUT, read_lines

GYM = CHECKOUT / "demo" / "gym"
PROBLEMS, TURNS = 20, 4
# As demo/README.md has them.
CAUGHT = {
    ("gemm", 1): ("wrong", []),
    ("gemv", 0): ("runtime_error", []),
    ("transpose", 0): ("wrong", []),
    ("rms_norm", 1): ("wrong", ["H08"]),
    ("gemm", 0): ("wrong", ["H15"]),
    ("conv1d", 1): ("wrong", ["H15"]),
    ("variance", 1): ("wrong", ["H15"]),
}
# Its thread writes 2 ms after the call. On a busy machine it has not been stopped by then.
LATE = ("row_sum", 1)


@pytest.fixture(scope="module")
def played(module_warpgym):
    """The run's directory."""
    out = module_warpgym.folder / "demo"
    run = module_warpgym.ok(
        "rollout", "--policy", f"scripted:{GYM / 'script.jsonl'}", "--out", out,
        f"@{GYM / 'problems.txt'}",
    )  # fmt: skip
    assert f"{PROBLEMS} of {PROBLEMS} episodes, {PROBLEMS * TURNS} turns" in run.out
    return out


def test_turns(played):
    """The first two fail, each in its own way, the cheats are seen through, the last two pass."""
    found = {}
    for episode in read_lines(played / "trajectories.jsonl"):
        assert episode["solved"] and len(episode["turns"]) == TURNS
        for turn in episode["turns"]:
            place = episode["problem"], turn["turn"]
            found[place] = turn["status"], turn["violations"]
            assert turn["correct"] == (turn["turn"] >= 2), (place, turn["verdict"])
            assert turn["feedback"]
    assert len(found) == PROBLEMS * TURNS
    assert {place: found[place] for place in CAUGHT} == CAUGHT
    assert found[LATE] in [("wrong", []), ("violation", ["H21"])]
    assert {status for status, _ in found.values()} > {"no_code", "compile_error", "load_error"}


def test_report(module_warpgym, played):
    run = module_warpgym.ok("report", "--json", "--problems", PROBLEMS, played)
    (report,) = json.loads(run.out)["runs"]
    assert report["problems"] == {"asked": PROBLEMS, "tried": PROBLEMS}
    assert report["turns"] == {"found": PROBLEMS * TURNS, "excluded": 0}
    figures = {(one["name"], one.get("p")): one["value"] for one in report["figures"]}
    assert figures["fast_p_problems", 0.0] == 1
    turns = [turn for one in read_lines(played / "trajectories.jsonl") for turn in one["turns"]]
    caught = sum(bool(turn["violations"]) for turn in turns)
    assert figures["violation_rate", None] == caught / len(turns)


@pytest.mark.skipif(not browser.PROGRAM, reason="chromium is not installed")
def test_page(module_warpgym, played):
    path = module_warpgym.folder / "demo.html"
    module_warpgym.ok("report", "--html", path, played)
    with browser.Browser() as page:
        page.open(path.as_uri())
        assert page.value("document.documentElement.dataset.ready") == str(PROBLEMS)
        assert page.value("document.querySelectorAll('svg').length") >= 5
        text = page.value("document.body.innerText")
        assert "softmax" in text and "100.0 %" in text
        assert page.complaints == []


def test_it_answers(warpgym):
    script = f"scripted:{GYM / 'script.jsonl'}"
    run = warpgym.ok("ask", "-p", script, "--problem", "softmax", "--turn", 3, "x")
    assert run.out == (GYM / "answers" / "softmax" / "3.md").read_text()
