"""Every problem that comes along: its honest fast solution passes, its wrong one is `wrong`, and a
native reference passes as its own candidate."""

import pytest
from support import CHECKOUT, PYTHON, SOME_FAILED, write_lines

pytestmark = pytest.mark.time_limit(times=2)

PROBLEMS = CHECKOUT / "problems"
NATIVE = sorted(path.parent for path in (PROBLEMS / "native").glob("*/problem.yaml"))
TORCH = sorted((PROBLEMS / "torch").glob("*.py"))
# each kind of candidate and what it must get
EXPECTED = {"fast": "passed", "wrong": "wrong", "reference": "passed"}


def native_candidates(folder):
    tests = folder / "tests"
    return {
        "fast": tests / "fast.c",
        "wrong": tests / "wrong.c",
        "reference": folder / "reference.c",
    }


def torch_candidates(module):
    tests = module.parent / "tests"
    return {kind: tests / f"{module.stem}.{kind}.py" for kind in ("fast", "wrong")}


NATIVE_CASES = [(f.name, kind, path) for f in NATIVE for kind, path in native_candidates(f).items()]
TORCH_CASES = [
    (f"torch/{m.stem}", kind, path) for m in TORCH for kind, path in torch_candidates(m).items()
]


def judge(runner, cases):
    # What PyTorch's extension loader builds takes longest; begun first, it does not come last.
    cases = sorted(cases, key=lambda case: "load_inline" not in case[2].read_text(encoding="utf-8"))
    batch = write_lines(
        runner.folder / "suite.jsonl",
        [{"problem": problem, "candidate": str(path)} for problem, _, path in cases],
    )
    run = runner.eval(
        "--jobs", "2", "--set", "run.load_timeout_ms=10m", batch, timeout=600, expect=SOME_FAILED
    )
    return {(v["problem"]["id"], v["candidate"]["path"]): v for v in run.verdicts}


@pytest.fixture(scope="module")
def native(module_warpgym):
    return judge(module_warpgym, NATIVE_CASES)


@pytest.fixture(scope="module")
def torch(module_warpgym):
    if not PYTHON.exists():
        pytest.skip("no Python with PyTorch: `make setup` makes one")
    return judge(module_warpgym, TORCH_CASES)


def check(verdicts, case):
    problem, kind, path = case
    verdict = verdicts[problem, str(path)]
    assert verdict["status"] == EXPECTED[kind], verdict["error"]
    assert verdict["integrity"]["violations"] == []


def test_there_are_problems():
    assert len(NATIVE) >= 25 and len(TORCH) >= 15


@pytest.mark.parametrize("case", NATIVE_CASES, ids=lambda case: f"{case[0]}-{case[1]}")
def test_native(native, case):
    check(native, case)


@pytest.mark.parametrize("case", TORCH_CASES, ids=lambda case: f"{case[0]}-{case[1]}")
def test_torch(torch, case):
    check(torch, case)
