"""The schema of verdicts: what is generated from it, real verdicts, and what it refuses.

Beside these, every verdict that any system test reads is checked against it (verdicts.py).
"""

import copy
import json

import pytest
import verdicts
from support import (
    PASSED,
    ROOT,
    SOME_FAILED,
    USAGE,
    WARPGYM,
    captured,
    fast,
    problem_folder,
    statuses,
    write,
    write_lines,
    wrong,
)

RELU = """#include <stdlib.h>
#include <stddef.h>
void solution(const float *x, float *y, size_t rows, size_t cols)
{{
    (void)x, (void)y, (void)rows, (void)cols;
    {body}
}}
"""
CANDIDATES = {
    "passed": fast("relu").read_text(encoding="utf-8"),
    "wrong": wrong("relu").read_text(encoding="utf-8"),
    "compile_error": "void solution(",
    "load_error": "void other(void) {}",
    "runtime_error": RELU.format(body="abort();"),
    "timeout": RELU.format(body="for (volatile int i = 1; i;);"),
}
MODULE = """import torch


class ModelNew(torch.nn.Module):
    def __init__(self, *sizes):
        super().__init__()

    def forward(self, x):
        {body}
"""
TORCH = {
    "wrong": MODULE.format(body="return x"),
    "runtime_error": MODULE.format(body="raise ValueError"),
    "out_of_memory": MODULE.format(body="raise MemoryError"),
    "load_error": "class Other: pass",
    "compile_error": "class ModelNew(",
}
BROKEN = {
    "format": "native",
    "yaml": (problem_folder("relu") / "problem.yaml").read_text(encoding="utf-8"),
    "source": RELU.format(body="abort();"),
}


def test_generated_files_are_up_to_date():
    done = captured(
        [ROOT / "scripts" / "verdict", "--check"],
        env={"TEST_WARPGYM": str(WARPGYM), "PATH": "/usr/bin:/bin"},
    )
    assert done.returncode == 0, done.stderr


def test_openapi_has_the_types(idle):
    schemas = json.loads(idle.get("/openapi.json").text)["components"]["schemas"]
    for name, type_ in verdicts.SCHEMA["$defs"].items():
        text = json.dumps(type_).replace("#/$defs/", "#/components/schemas/")
        assert schemas[name] == json.loads(text)


@pytest.fixture(scope="module")
def judged(module_warpgym):
    """A verdict of each status that a candidate, native and torch, gets here."""
    folder = module_warpgym.folder
    lines = [
        {"problem": "relu", "source": source, "name": f"{status}.c"}
        for status, source in CANDIDATES.items()
    ]
    lines += [
        {"problem": "torch/gelu_linear", "source": source, "name": f"{status}.py"}
        for status, source in TORCH.items()
    ]
    lines.append({"problem": "relu", "source": "x", "name": "unsupported.py"})
    lines.append({"problem": BROKEN, "candidate": {"source": CANDIDATES["passed"]}})
    batch = write_lines(folder / "batch.jsonl", lines)
    return module_warpgym(
        "eval", "--json", "--quiet", "-s", "run.timeout_ms=2s", batch
    ).verdicts


@pytest.fixture(scope="module")
def native(judged):
    """Those of native candidates, by status."""
    return {
        one["status"]: one for one in judged if one["candidate"]["path"].endswith(".c")
    }


def test_real_verdicts(judged, native):
    wanted = [*CANDIDATES, *TORCH, "unsupported", "infrastructure_error"]
    assert sorted(statuses(judged)) == sorted(wanted)
    assert native["passed"]["timing"]["candidate"]["n"] > 0
    assert all(verdicts.is_valid(verdict) for verdict in judged)


def places(value, path=()):
    """Every object within a verdict, by the keys that lead there."""
    if isinstance(value, dict):
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, one in items:
        if isinstance(one, (dict, list)):
            yield from places(one, (*path, key))


def spoiled(verdict):
    """Copies with a key too many, one too few, or a value of a type that no field has there."""
    for path in places(verdict):
        for key in [*verdict_at(verdict, path), None]:
            for change in ("extra",) if key is None else ("missing", "mistyped"):
                copied = copy.deepcopy(verdict)
                place = verdict_at(copied, path)
                if change == "missing":
                    del place[key]
                else:
                    place[key or "extra"] = {"no": "field"}
                yield f"{change} {'.'.join(map(str, (*path, key)))}", copied


def verdict_at(value, path):
    for key in path:
        value = value[key]
    return value


@pytest.mark.parametrize("status", ["passed", "wrong", "compile_error"])
def test_refused_by_schema_and_reader_alike(warpgym, native, status):
    """A key that is optional may be missing; every other change is refused by both."""
    rows = list(spoiled(native[status]))
    file = write_lines(
        warpgym.folder / "spoiled.jsonl", [verdict for _, verdict in rows]
    )
    run = warpgym("verdict", file)
    refused = {line.split(": ")[1] for line in run.err.splitlines()}
    valid = 0
    for number, (what, verdict) in enumerate(rows, 1):
        assert (f"{file}:{number}" not in refused) == verdicts.is_valid(verdict), what
        optional = what == "missing problem_audit" or what.startswith("missing timing.")
        assert not verdicts.is_valid(verdict) or optional, what
        valid += verdicts.is_valid(verdict)
    assert run.status == SOME_FAILED and len(rows) > 80
    assert run.out == f"{valid} of {len(rows)} lines are verdicts\n"


SEEDS = sorted(
    path
    for folder, names in (
        ("verdict", "*"),
        ("kernelgym", "verdict_*"),
        ("feedback", "[!s]*"),
    )
    for path in (ROOT / "fuzz" / "corpus" / folder).glob(names)
)


@pytest.mark.parametrize(
    "path", SEEDS, ids=lambda path: f"{path.parent.name}/{path.name}"
)
def test_seeds_of_fuzzers(path):
    """One that is refused at its first key would reach nothing."""
    seed = json.loads(path.read_text(encoding="utf-8"))
    seed.pop("source", None)  # fuzz_feedback's, beside its verdict
    assert list(verdicts.found(seed))
    verdicts.checked(seed)


def test_command(warpgym, judged, tmp_path):
    file = write_lines(tmp_path / "verdicts.jsonl", judged)
    run = warpgym("verdict", file)
    assert run.status == PASSED
    assert run.out == f"{len(judged)} of {len(judged)} lines are verdicts\n"
    assert json.loads(warpgym("verdict", "--schema").out) == verdicts.SCHEMA
    assert warpgym("verdict").complaint.startswith("name a file of verdicts")
    assert warpgym("verdict", tmp_path / "none").status == USAGE
    bad = warpgym("verdict", write(tmp_path / "bad.jsonl", "{"))
    assert bad.status == SOME_FAILED and "bad.jsonl:1" in bad.err
