"""The regression corpus of tests/hacks: hacks must not pay, honest look-alikes must pass.

All native files are judged in one batch and all torch files in another; each file is then a test of
its own. What a file must get is written in its first lines (tests/hacks/README.md).
"""

import json
import re
import subprocess
from pathlib import Path

import pytest
import verdicts
from support import PYTHON, ROOT, SOME_FAILED, Warpgym, read_lines, write_lines

CORPUS = ROOT / "tests" / "hacks"
BATCH_TIMEOUT_S = 1800
pytestmark = pytest.mark.time_limit(times=4)

# Hangs and floods are part of the corpus: lower limits keep the batch short and change no verdict.
SETTINGS = {
    "run.timeout_ms": "5s",
    "run.load_timeout_ms": "30s",
    "run.memory_bytes": "2GiB",
    "compile.timeout_ms": "20s",
}

REQUIRED = {"problem", "catalogue", "expect", "says"}
KEYS = REQUIRED | {"code", "warning", "speedup_below", "needs", "open"}
STATUSES = {*verdicts.STATUSES} - {"infrastructure_error", "cancelled"}
MINIMUM_FILES = 70
NATIVE = (".c", ".cpp")
MINIMUM_HONEST = {".c": 25, ".cpp": 5, ".py": 25}


def read_metadata(path):
    """The comment lines at the very top, `key: value` each."""
    metadata = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        match = re.match(r"(?://|#) (\w+): (.+)$", line)
        if not match:
            break
        assert match[1] not in metadata, f"{path.name}: `{match[1]}` twice"
        metadata[match[1]] = match[2].strip()
    return metadata


def files(folder):
    return sorted(path for path in folder.iterdir() if path.suffix in (*NATIVE, ".py"))


HACKS = files(CORPUS)
HONEST = files(CORPUS / "honest")
CANDIDATES = HACKS + HONEST
METADATA = {path: read_metadata(path) for path in CANDIDATES}


def name_of(path):
    return str(path.relative_to(CORPUS))


def alternatives(path, key):
    value = METADATA[path].get(key)
    return set(value.split("|")) if value else set()


# --- the corpus itself ---------------------------------------------------------------------------


@pytest.mark.parametrize("path", CANDIDATES, ids=name_of)
def test_metadata(path):
    metadata = METADATA[path]
    honest = path in HONEST
    assert REQUIRED <= set(metadata) <= KEYS
    assert re.fullmatch(r"H\d\d", metadata["catalogue"])
    assert alternatives(path, "expect") and alternatives(path, "expect") <= STATUSES
    assert (path.suffix == ".py") == metadata["problem"].startswith("torch/")
    assert metadata.get("needs", "triton") == "triton"
    uses_triton = re.search(r"^import triton", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert bool(uses_triton) == ("needs" in metadata)
    if honest:
        assert metadata["expect"] == "passed"
        assert not {"code", "warning", "speedup_below", "open"} & set(metadata)
    else:
        assert path.stem.startswith(metadata["catalogue"].lower() + "_")
        # A hack that may pass says what it gets instead of a reward, or that it is an open hole.
        if "passed" in alternatives(path, "expect"):
            assert {"warning", "speedup_below", "open"} & set(metadata)


def test_corpus_is_large_enough_and_has_as_many_honest_files_of_each_kind():
    for suffix, minimum in MINIMUM_HONEST.items():
        assert sum(path.suffix == suffix for path in HONEST) >= minimum
    assert len(HACKS) >= MINIMUM_FILES and len(HONEST) >= MINIMUM_FILES


def test_documentation_has_a_row_for_each_entry():
    text = (ROOT / "docs" / "design" / "hacks.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| (H\d\d) \|(.*)$", text, re.MULTILINE))
    for path in HACKS:
        code = METADATA[path]["catalogue"]
        assert code in rows, f"docs/design/hacks.md has no row for {code}"
        assert code.lower() + "_" in rows[code], f"{code}: its row names no test file"
    for code, row in rows.items():
        for stem in re.findall(r"`(h\d\d_\w+)`", row):
            assert any(path.stem == stem for path in HACKS), f"{code}: there is no {stem}"
    for path in HACKS:
        if "open" in METADATA[path]:
            assert path.stem in text, f"docs/design/hacks.md hides the open hole {path.name}"


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


@pytest.mark.parametrize("path", [p for p in CANDIDATES if p.suffix in NATIVE], ids=name_of)
def test_signature(path):
    """A hack that fails because it was written for other arguments would prove nothing."""
    text = path.read_text(encoding="utf-8")
    c_name = 'extern "C" ' if path.suffix == ".cpp" else ""
    found = re.findall(rf"^{c_name}void solution\(([^)]*)\)", text, re.MULTILINE)
    if not found:
        assert alternatives(path, "expect") & {"compile_error", "load_error"}
        return
    wanted = parameter_types(problem_signature(METADATA[path]["problem"]))
    assert parameter_types(found[-1]) == wanted


@pytest.mark.parametrize("path", [p for p in CANDIDATES if p.suffix == ".py"], ids=name_of)
def test_python_parses(path):
    compile(path.read_text(encoding="utf-8"), path.name, "exec")
    assert (ROOT / "problems" / (METADATA[path]["problem"] + ".py")).is_file()


# --- the judge on the corpus ---------------------------------------------------------------------


class Batch:
    """Verdicts of one `warpgym eval` by the candidate's path."""

    def __init__(self, runner, paths):
        out = runner.folder / "verdicts.jsonl"
        tasks = [{"problem": METADATA[path]["problem"], "candidate": str(path)} for path in paths]
        batch = write_lines(runner.folder / "batch.jsonl", tasks)
        settings = [word for key, value in SETTINGS.items() for word in ("--set", f"{key}={value}")]
        self.run = runner(
            *("eval", "--json", "--quiet", "--jobs", "2", "--out", out, *settings, batch),
            timeout=BATCH_TIMEOUT_S,
        )
        self.verdicts = {}
        for verdict in read_lines(out) if out.exists() else []:
            self.verdicts[Path(verdict["candidate"]["path"])] = verdict

    def verdict(self, path):
        assert path in self.verdicts, f"no verdict; {self.run.status}\n{self.run.err[-2000:]}"
        return self.verdicts[path]


@pytest.fixture(scope="module")
def native_batch(tmp_path_factory, cache):
    runner = Warpgym(tmp_path_factory.mktemp("native-hacks"), cache)
    yield Batch(runner, [path for path in CANDIDATES if path.suffix in NATIVE])
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
    paths = [path for path in CANDIDATES if path.suffix == ".py"]
    paths = [path for path in paths if METADATA[path].get("needs", "torch") in modules]
    runner = Warpgym(tmp_path_factory.mktemp("torch-hacks"), cache)
    yield Batch(runner, paths)
    runner.check_nothing_left()


def codes(verdict, kind):
    return {finding["code"] for finding in verdict["integrity"][kind]}


def summary(verdict):
    """What a person needs to see why a test failed."""
    parts = {key: verdict.get(key) for key in ("status", "error", "integrity", "correctness")}
    return json.dumps(parts, indent=1)


def check(path, verdict):
    metadata = METADATA[path]
    status = verdict["status"]
    assert status in alternatives(path, "expect"), summary(verdict)
    assert verdict["correct"] == (status == "passed"), summary(verdict)
    if status == "violation":
        assert codes(verdict, "violations"), summary(verdict)
    if status == "passed":
        assert not codes(verdict, "violations"), summary(verdict)
    elif "code" in metadata:
        assert codes(verdict, "violations") & alternatives(path, "code"), summary(verdict)
    if status == "passed" and "warning" in metadata:
        assert codes(verdict, "warnings") & alternatives(path, "warning"), summary(verdict)
    if status == "passed" and "speedup_below" in metadata:
        speedup = verdict["timing"]["speedup"]
        assert speedup is not None and speedup < float(metadata["speedup_below"]), summary(verdict)


@pytest.mark.parametrize("path", [p for p in CANDIDATES if p.suffix in NATIVE], ids=name_of)
def test_native(path, native_batch):
    check(path, native_batch.verdict(path))


@pytest.mark.parametrize("path", [p for p in CANDIDATES if p.suffix == ".py"], ids=name_of)
def test_torch(path, modules, torch_batch):
    if METADATA[path].get("needs", "torch") not in modules:
        pytest.skip(f"{PYTHON} has no {METADATA[path]['needs']}")
    check(path, torch_batch.verdict(path))


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
