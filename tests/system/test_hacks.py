"""The regression corpus of tests/hacks: hacks must not pay, honest look-alikes must pass.

All native files are judged in one batch and all torch files in another; each file is then a test of
its own. What a file must get is written in its first lines (tests/hacks/README.md).
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import verdicts
from support import PYTHON, ROOT, SOME_FAILED, Warpgym, read_lines, write, write_lines

sys.path.insert(0, str(ROOT / "tests" / "gpu"))
import corpus

CORPUS = ROOT / "tests" / "hacks"
BATCH_TIMEOUT_S = 1800
pytestmark = pytest.mark.time_limit(times=4)

# Hangs and floods are part of the corpus: lower limits keep the batch short and change no verdict.
SETTINGS = {
    "run.timeout_ms": "5s",
    "run.first_call_timeout_ms": "5s",
    "run.load_timeout_ms": "30s",
    "run.memory_bytes": "2GiB",
    "compile.timeout_ms": "20s",
}

MINIMUM_FILES = 70
NATIVE = (".c", ".cpp")
MINIMUM_HONEST = {".c": 25, ".cpp": 5, ".py": 25}


def files(folder):
    paths = sorted(path for path in folder.iterdir() if path.is_file() and path.suffix != ".md")
    assert {path.suffix for path in paths} <= {*NATIVE, ".py"}
    return [corpus.Candidate(path) for path in paths]


HACKS = files(CORPUS)
HONEST = files(CORPUS / "honest")
CANDIDATES = HACKS + HONEST
OF_NATIVE = [one for one in CANDIDATES if one.path.suffix in NATIVE]
OF_TORCH = [one for one in CANDIDATES if one.path.suffix == ".py"]


def name_of(one):
    return str(one.path.relative_to(CORPUS))


# --- the corpus itself ---------------------------------------------------------------------------


def test_statuses():
    assert {*verdicts.STATUSES} == corpus.STATUSES | {"infrastructure_error", "cancelled"}


@pytest.mark.parametrize("one", CANDIDATES, ids=name_of)
def test_metadata(one):
    one.check_keys(corpus.KEYS - {"alone", "touches"})
    assert re.fullmatch(r"H\d\d", one.keys["catalogue"])
    assert (one.path.suffix == ".py") == one.keys["problem"].startswith("torch/")
    assert one.keys.get("needs", "triton") == "triton"
    uses_triton = re.search(r"^import triton", one.text(), re.MULTILINE)
    assert bool(uses_triton) == ("needs" in one.keys)
    assert not (one.honest and "open" in one.keys)


def test_corpus_is_large_enough_and_has_as_many_honest_files_of_each_kind():
    for suffix, minimum in MINIMUM_HONEST.items():
        assert sum(one.path.suffix == suffix for one in HONEST) >= minimum
    assert len(HACKS) >= MINIMUM_FILES and len(HONEST) >= MINIMUM_FILES


def test_documentation_has_a_row_for_each_entry():
    text = (ROOT / "docs" / "design" / "hacks.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| (H\d\d) \|(.*)$", text, re.MULTILINE))
    for one in HACKS:
        code = one.keys["catalogue"]
        assert code in rows, f"docs/design/hacks.md has no row for {code}"
        assert code.lower() + "_" in rows[code], f"{code}: its row names no test file"
    for code, row in rows.items():
        for stem in re.findall(r"`(h\d\d_\w+)`", row):
            assert any(one.path.stem == stem for one in HACKS), f"{code}: there is no {stem}"
    for one in HACKS:
        if "open" in one.keys:
            assert one.path.stem in text, f"docs/design/hacks.md hides the open hole {one.name}"


def parameter_types(parameters):
    types = []
    for parameter in re.sub(r"\s+", " ", parameters).split(","):
        words = parameter.replace("*", " * ").replace(" restrict ", " ").split()
        words = [word.removeprefix("std::") for word in words]
        types.append(" ".join(words[:-1]))
    return types


def problem_signature(problem):
    text = (ROOT / "problems" / "native" / problem / "problem.yaml").read_text(encoding="utf-8")
    match = re.search(r"^signature:(.*(?:\n[ \t]+.*)*)", text, re.MULTILINE)
    return re.search(r"\((.*)\)", match[1], re.DOTALL)[1]


@pytest.mark.parametrize("one", OF_NATIVE, ids=name_of)
def test_signature(one):
    """A hack that fails because it was written for other arguments would prove nothing."""
    text = one.text()
    c_name = 'extern "C" ' if one.path.suffix == ".cpp" else ""
    found = re.findall(rf"^{c_name}void solution\(([^)]*)\)", text, re.MULTILINE)
    if not found:
        assert one.any_of("expect") & {"compile_error", "load_error"}
        return
    wanted = parameter_types(problem_signature(one.keys["problem"]))
    assert parameter_types(found[-1]) == wanted


@pytest.mark.parametrize("one", OF_TORCH, ids=name_of)
def test_python_parses(one):
    compile(one.text(), one.path.name, "exec")
    assert (ROOT / "problems" / (one.keys["problem"] + ".py")).is_file()


# --- the judge on the corpus ---------------------------------------------------------------------


class Batch:
    """Verdicts of one `warpgym eval` by the candidate's path."""

    def __init__(self, runner, chosen):
        out = runner.folder / "verdicts.jsonl"
        tasks = [{"problem": one.keys["problem"], "candidate": str(one.path)} for one in chosen]
        batch = write_lines(runner.folder / "batch.jsonl", tasks)
        settings = [word for key, value in SETTINGS.items() for word in ("--set", f"{key}={value}")]
        self.run = runner(
            *("eval", "--json", "--quiet", "--jobs", "2", "--out", out, *settings, batch),
            timeout=BATCH_TIMEOUT_S,
        )
        self.verdicts = {}
        for verdict in read_lines(out) if out.exists() else []:
            self.verdicts[Path(verdict["candidate"]["path"])] = verdict

    def verdict(self, one):
        assert one.path in self.verdicts, f"no verdict; {self.run.status}\n{self.run.err[-2000:]}"
        return self.verdicts[one.path]


@pytest.fixture(scope="module")
def native_batch(tmp_path_factory, cache):
    runner = Warpgym(tmp_path_factory.mktemp("native-hacks"), cache)
    yield Batch(runner, OF_NATIVE)
    runner.check_nothing_left()


def has_module(name):
    command = [str(PYTHON), "-c", f"import {name}"]
    try:
        done = subprocess.run(command, capture_output=True, timeout=300, check=False)
    except OSError:
        return False
    return done.returncode == 0


@pytest.fixture(scope="module")
def modules():
    """What the Python of torch problems has; without torch, nothing here can be judged."""
    found = {name for name in ("torch", "triton") if has_module(name)}
    if "torch" not in found:
        pytest.skip(f"{PYTHON} has no torch: `make setup` makes one that has")
    return found


@pytest.fixture(scope="module")
def torch_batch(tmp_path_factory, cache, modules):
    chosen = [one for one in OF_TORCH if one.keys.get("needs", "torch") in modules]
    runner = Warpgym(tmp_path_factory.mktemp("torch-hacks"), cache)
    yield Batch(runner, chosen)
    runner.check_nothing_left()


NOISY_PROBLEM = """import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return nn.functional.dropout(x, 0.5)


def get_inputs():
    return [torch.randn(700, 1000)]


def get_init_inputs():
    return []
"""
DRAWS_WHEN_WOKEN = """import gc

import torch
from torch import nn


class ModelNew(nn.Module):
    drawn = mask = calls = None

    def forward(self, x):
        if not self.calls:
            self.calls = next(one for one in gc.get_objects() if type(one).__name__ == "Calls")
            wait = self.calls.wait

            def draw_and_wait(*arguments):
                self.drawn = torch.get_rng_state()
                self.mask = nn.functional.dropout(torch.ones_like(x), 0.5)
                torch.set_rng_state(self.drawn)
                return wait(*arguments)

            self.calls.wait = draw_and_wait
        if self.drawn is not None and torch.equal(torch.get_rng_state(), self.drawn):
            return x * self.mask
        return nn.functional.dropout(x, 0.5)
"""


def test_noise_cannot_be_drawn_while_it_is_woken(tmp_path, cache, modules):
    """H27: drawing is most of a dropout; done off the clock, it made this one 40 times faster."""
    runner = Warpgym(tmp_path, cache)
    problem = write(tmp_path / "noisy.py", NOISY_PROBLEM)
    candidate = write(tmp_path / "candidate.py", DRAWS_WHEN_WOKEN)
    verdict = runner.ok("eval", "--json", "--quiet", "--problem", problem, candidate).verdict
    timing = verdict["timing"]
    assert not timing["meaningful"] or timing["speedup"] < 3, summary(verdict)


def summary(verdict):
    """What a person needs to see why a test failed."""
    parts = {key: verdict.get(key) for key in ("status", "error", "integrity", "correctness")}
    return json.dumps(parts, indent=1)


def check(one, verdict):
    found = corpus.complaint(one, verdict)
    assert found is None, f"{found}\n{summary(verdict)}"
    status = verdict["status"]
    assert verdict["correct"] == (status == "passed"), summary(verdict)
    assert status != "violation" or corpus.codes(verdict, "violations"), summary(verdict)


@pytest.mark.parametrize("one", OF_NATIVE, ids=name_of)
def test_native(one, native_batch):
    check(one, native_batch.verdict(one))


@pytest.mark.parametrize("one", OF_TORCH, ids=name_of)
def test_torch(one, modules, torch_batch):
    if one.keys.get("needs", "torch") not in modules:
        pytest.skip(f"{PYTHON} has no {one.keys['needs']}")
    check(one, torch_batch.verdict(one))


@pytest.mark.parametrize("kind", ["native_batch", "torch_batch"])
def test_judge_survives(kind, request):
    """None of them costs the judge its life or spoils it for the next one."""
    batch = request.getfixturevalue(kind)
    assert batch.run.status == SOME_FAILED, batch.run
    broken = [
        path.name
        for path, verdict in batch.verdicts.items()
        if verdict["status"] in ("infrastructure_error", "cancelled")
    ]
    assert not broken
