"""The script of `demo/gym`: its last turns pass, and its cheats are seen through."""

import json
import re

from support import HOUSE, PASSED, write, write_lines

GYM = HOUSE / "demo" / "gym"
# As demo/README.md has them.
CAUGHT = {
    ("gemm", 1): set(),
    ("gemv", 0): set(),
    ("transpose", 0): set(),
    ("row_sum", 1): set(),
    ("rms_norm", 1): {"H08"},
    ("gemm", 0): {"H15"},
    ("conv1d", 1): {"H15"},
    ("variance", 1): {"H15"},
}


def test_answers(warpgym):
    script = [json.loads(line) for line in (GYM / "script.jsonl").read_text().splitlines()]
    assert len({line["problem"] for line in script}) * 4 == len(script) == 80
    tasks, turns = [], {}
    for line in script:
        turn = line["problem"], line["turn"]
        answer = (GYM / line["answer"]["file"]).read_text()
        code = re.search(r"<KERNEL>\n```c\n(.*?)```\n</KERNEL>", answer, re.DOTALL)
        assert code or line["turn"] == 0
        if turn in CAUGHT or line["turn"] == 3:
            path = write(warpgym.folder / f"{turn[0]}_{turn[1]}.c", code.group(1))
            tasks.append({"problem": turn[0], "candidate": str(path)})
            turns[str(path)] = turn
    run = warpgym.eval("--jobs", 2, write_lines(warpgym.folder / "all.jsonl", tasks))
    assert len(run.verdicts) == len(tasks) == 20 + len(CAUGHT)
    for verdict in run.verdicts:
        turn = turns[verdict["candidate"]["path"]]
        found = {one["code"] for one in verdict["integrity"]["violations"]}
        assert (verdict["status"] == "passed") == (turn not in CAUGHT), verdict
        assert found == CAUGHT.get(turn, set()), verdict


def test_it_answers(warpgym):
    script = f"scripted:{GYM / 'script.jsonl'}"
    run = warpgym("ask", "-p", script, "--problem", "softmax", "--turn", 3, "x")
    assert run.status == PASSED
    assert run.out == (GYM / "answers" / "softmax" / "3.md").read_text()
