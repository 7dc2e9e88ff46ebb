"""Tasks of many kinds, whose verdicts are the same from this machine and from a server."""

import shutil

from support import (
    SOME_FAILED,
    fast,
    kernelbench_module,
    problem_folder,
    write,
    write_lines,
    wrong,
)

# What two runs on the same texts need not share.
VARYING = ("id", "stages_ms", "calls_ms", "environment", "profile", "problem_audit")


def tasks(folder):
    own = shutil.copytree(problem_folder("softmax"), folder / "mine" / "softmax")
    module = write(folder / "square.py", kernelbench_module())
    answer = write(folder / "answer.py", kernelbench_module().replace("Model", "ModelNew"))
    return [
        {"problem": "softmax", "candidate": str(fast("softmax"))},
        {"problem": "softmax", "candidate": str(wrong("softmax"))},
        {"problem": "relu", "candidate": str(fast("relu"))},
        {"problem": str(own), "candidate": str(fast("softmax"))},
        {"problem": "softmax", "source": "int x", "name": "broken.c"},
        {"problem": "softmax", "source": "int y;", "name": "nothing.c"},
        {"problem": "softmax", "candidate": str(answer)},
        {"problem": str(module), "candidate": str(answer)},
        {"problem": "softmax", "candidate": str(write(folder / "empty.c", ""))},
        {"problem": "softmax", "candidate": str(write(folder / "nul.c", b"int\0x;"))},
        {
            "problem": {"format": "torch", "source": module.read_text()},
            "candidate": {"source": answer.read_text(), "name": "inline.py"},
        },
    ]


def stripped(verdict):
    kept = {key: value for key, value in verdict.items() if key not in VARYING}
    if kept.get("correctness"):  # secret inputs differ
        kept["correctness"] = {key: kept["correctness"][key] for key in ("trials", "passed")}
    if kept["status"] == "wrong":
        kept["error"] = kept["error"]["class"]
    return kept


def place(verdict):
    return verdict["candidate"]["path"], verdict["problem"]["id"], verdict["problem"]["hash"]


def check_same_verdicts(warpgym, url):
    lines = tasks(warpgym.folder)
    batch = write_lines(warpgym.folder / "tasks.jsonl", lines)
    here, there = warpgym.eval(batch), warpgym.eval("--server", url, batch)
    assert here.status == there.status == SOME_FAILED, there
    mine, theirs = sorted(here.verdicts, key=place), sorted(there.verdicts, key=place)
    assert len(mine) == len(theirs) == len(lines)
    for one, other in zip(mine, theirs, strict=True):
        assert stripped(one) == stripped(other)
        audits = one.get("problem_audit"), other.get("problem_audit")
        if all(audits):  # a server refuses an empty text without an audit
            assert audits[0]["outcome"] == audits[1]["outcome"]
