"""Candidates for a GPU: hacks that must not pay, look-alikes that must pass.

Each file of hacks/ and honest/ says in its first lines what becomes of it, by the keys of
tests/hacks/README.md and three more: `needs: extension`, `alone` (judged without others, which it
disturbs), and `touches`, words of the child's own code without which the hack proves nothing.

    python3 tests/gpu/corpus.py [WORD…]     judge all of them, or those named so; print a table

What is there after CORPUS_TIMEOUT_S is shown; with a directory OUT, verdicts are kept in it.

CUDA files whose first line is not `// problem: …` are test_gpu.py's. What several candidates share
is in shared/: its text is judged in the place of the line that names it, as a sandbox has no
other file.

Needs nothing but Python's own library, so that it runs wherever warpgym does.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
WARPGYM = Path(os.environ.get("TEST_WARPGYM") or ROOT / "warpgym")
JOBS = 4
BATCH_TIMEOUT_S = int(os.environ.get("CORPUS_TIMEOUT_S", "1500"))
ALONE_TIMEOUT_S = 180
SETTINGS = {
    "run.timeout_ms": "5s",
    "run.first_call_timeout_ms": "5s",
    "run.load_timeout_ms": "60s",
    "compile.timeout_ms": "60s",
}

REQUIRED = {"problem", "catalogue", "expect", "says"}
KEYS = REQUIRED | {*("code", "warning", "speedup_below", "needs", "open"), *("alone", "touches")}
NEEDS = {"triton", "extension"}
SHARED = re.compile(
    r'^(?:from (?P<module>shared\.\w+) import .+|#include "(?P<header>shared/\w+\.cuh)")\n',
    re.MULTILINE,
)
TABLE = []  # lines that the end of a test run shows (conftest.py)
STATUSES = {
    *("passed", "wrong", "compile_error", "load_error", "runtime_error", "timeout"),
    *("out_of_memory", "violation", "unsupported"),
}


class Candidate:
    """One file, and what its first lines say of it."""

    def __init__(self, path):
        self.path = path
        self.name = f"{path.parent.name}/{path.stem}"
        self.honest = path.parent.name == "honest"
        self.keys = {}
        for line in path.read_text(encoding="utf-8").splitlines():
            match = re.match(r"(?:#|//) (\w+): (.+)$", line)
            if not match:
                break
            assert match[1] not in self.keys, f"{self.name}: `{match[1]}` twice"
            self.keys[match[1]] = match[2].strip()

    def text(self):
        """What is judged."""

        def shared(found):
            name = found["header"] or found["module"].replace(".", "/") + ".py"
            return (HERE / name).read_text(encoding="utf-8")

        return SHARED.sub(shared, self.path.read_text(encoding="utf-8"))

    def any_of(self, key):
        value = self.keys.get(key)
        return set(value.split("|")) if value else set()

    def check_keys(self, known):
        """What its lines say fits together."""
        keys = set(self.keys)
        assert REQUIRED <= keys <= known
        assert self.any_of("expect") and self.any_of("expect") <= STATUSES
        if self.honest:
            assert self.keys["expect"] == "passed"
            assert not {"code", "warning", "speedup_below"} & keys
        else:
            assert self.path.stem.startswith(self.keys["catalogue"].lower() + "_")
            # A hack that may pass says what it gets instead of a reward, or that it is a hole.
            if "passed" in self.any_of("expect"):
                assert {"warning", "speedup_below", "open"} & keys

    def problem(self):
        own = HERE / "problems" / (self.keys["problem"] + ".py")
        return str(own) if own.is_file() else self.keys["problem"]


def why_not(needed, words):
    """Why nothing can be judged on a GPU here, or None. `needed`: what doctor must have found."""
    command = [WARPGYM, "doctor", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    found = json.loads(done.stdout)
    if not found["gpus"]:
        return found["gpu_error"] or "no GPU"
    return None if found[needed] else words


def candidates(words=()):
    found = sorted(path for path in HERE.glob("h*/*") if path.suffix in (".py", ".cu"))
    every = [one for one in map(Candidate, found) if "problem" in one.keys]
    return [one for one in every if not words or any(word in one.name for word in words)]


def _judge(chosen, jobs, timeout_s, more=()):
    """Verdicts by path. One that is missing was never given."""
    if not chosen:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        out, batch = Path(folder, "verdicts.jsonl"), Path(folder, "batch.jsonl")
        tasks = []
        for one in chosen:
            copy = Path(folder, one.path.relative_to(HERE))
            copy.parent.mkdir(exist_ok=True)
            copy.write_text(one.text(), encoding="utf-8")
            tasks.append({"problem": one.problem(), "candidate": str(copy)})
        batch.write_text("".join(json.dumps(task) + "\n" for task in tasks), encoding="utf-8")
        pairs = {**SETTINGS, **dict(more)}.items()
        settings = [word for key, value in pairs for word in ("-s", f"{key}={value}")]
        command = [WARPGYM, "eval", "--json", "--quiet", "--jobs", str(jobs), "--out", out]
        try:
            done = subprocess.run(
                [*command, *settings, batch],
                capture_output=True,
                text=True,
                timeout=timeout_s,
                check=False,
            )
            if done.returncode not in (0, 1):
                print(done.stderr[-2000:], file=sys.stderr)
        except subprocess.TimeoutExpired:
            print(f"the judge did not end within {timeout_s} s", file=sys.stderr)
        lines = out.read_text(encoding="utf-8").splitlines() if out.exists() else []
        verdicts = map(json.loads, lines)
        return {
            HERE / Path(verdict["candidate"]["path"]).relative_to(folder): verdict
            for verdict in verdicts
        }


def judge(chosen, settings=()):
    """Verdicts of all: those that disturb others come last, one after the other."""
    together = [one for one in chosen if "alone" not in one.keys]
    verdicts = _judge(together, JOBS, BATCH_TIMEOUT_S, settings)
    for one in chosen:
        if "alone" in one.keys:
            verdicts |= _judge([one], 1, ALONE_TIMEOUT_S, settings)
    return verdicts


def codes(verdict, kind):
    return {finding["code"] for finding in verdict["integrity"][kind]}


def _unearned(one, verdict):
    """What is wrong with a pass, or None."""
    found = codes(verdict, "violations")
    if found:
        return f"passed with violations {' '.join(sorted(found))}"
    if one.honest or "open" in one.keys:
        return None
    if "warning" in one.keys and not codes(verdict, "warnings") & one.any_of("warning"):
        return f"passed without the warning {one.keys['warning']}"
    if "speedup_below" in one.keys:
        timing = verdict["timing"] or {"speedup": None, "meaningful": True}
        speedup = timing["speedup"]
        if timing["meaningful"] and (
            speedup is None or speedup >= float(one.keys["speedup_below"])
        ):
            return f"passed with a speedup of {speedup}, not below {one.keys['speedup_below']}"
    return None


def complaint(one, verdict):
    """Why this is not what its file says, or None. An open hole may pass, and is named in the
    table with what it got."""
    if verdict is None:
        return "no verdict"
    status = verdict["status"]
    if status not in one.any_of("expect"):
        return f"{status} instead of {one.keys['expect']}"
    if status == "passed":
        return _unearned(one, verdict)
    if "code" in one.keys and not codes(verdict, "violations") & one.any_of("code"):
        return f"{status} without {one.keys['code']}"
    return None


def without_its_needs(one, verdict):
    """A machine that cannot build extensions, say: that says nothing about the hack."""
    return bool(verdict) and verdict["status"] == "unsupported" and "needs" in one.keys


def row(one, verdict):
    timing = (verdict or {}).get("timing") or {}
    speedup = timing.get("speedup")
    error = (verdict or {}).get("error") or {}
    found = sorted(codes(verdict, "violations") | codes(verdict, "warnings")) if verdict else []
    return (
        f"{one.name:<40} {verdict['status'] if verdict else '-':<14} "
        f"{f'{speedup:.3f}' if speedup else '-':>8} {' '.join(found):<12} "
        f"{(error.get('message') or '')[:90]}"
    )


def table(chosen, verdicts):
    """Lines: what is unexpected, and which open holes paid."""
    unexpected, paid = [], []
    for one in chosen:
        verdict = verdicts.get(one.path)
        if without_its_needs(one, verdict):
            continue
        found = complaint(one, verdict)
        if found:
            unexpected += [row(one, verdict), f"    {found}"]
        elif "open" in one.keys and verdict["status"] == "passed" and not one.honest:
            paid += [row(one, verdict), f"    open: {one.keys['open']}"]
    lines = [f"unexpected: {len(unexpected) // 2}", *unexpected]
    return [*lines, f"open holes that passed: {len(paid) // 2}", *paid]


def main(words):
    chosen = candidates(words)
    verdicts = judge(chosen)
    if "OUT" in os.environ:
        text = "".join(json.dumps(verdict) + "\n" for verdict in verdicts.values())
        Path(os.environ["OUT"], "corpus.jsonl").write_text(text, encoding="utf-8")
    for one in chosen:
        print(row(one, verdicts.get(one.path)))
    lines = table(chosen, verdicts)
    print("\n" + "\n".join(lines))
    return lines[0] != "unexpected: 0"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
