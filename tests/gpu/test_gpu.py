"""CUDA candidates on a real GPU: `make test-gpu`. Each file says in its first line what becomes of
it: `// PROBLEM: STATUS… [CODE]`; `charged`: it passes, and is slow."""

import json
import os
import subprocess
import time
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
WARPGYM = Path(os.environ.get("TEST_WARPGYM") or ROOT / "warpgym")
NATIVE = ROOT / "problems" / "native"
TIMEOUT_S = 120


def run(*arguments):
    return subprocess.run(
        [WARPGYM, *arguments], capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )


def why_not():
    found = json.loads(run("doctor", "--json").stdout)
    if not found["gpus"]:
        return found["gpu_error"] or "no GPU"
    return None if found["nvcc"] else "no nvcc"


REASON = why_not()
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))


def judged(problem, candidate, *settings):
    done = run("eval", "--json", "--quiet", "--problem", problem, *settings, candidate)
    assert done.returncode in (0, 1), done.stderr
    (line,) = done.stdout.splitlines()
    return json.loads(line)


FILES = sorted(
    path for path in HERE.glob("*/*.cu") if not path.read_text().startswith("// problem: ")
)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_corpus(path):
    problem, expected = path.read_text().splitlines()[0].removeprefix("// ").split(":")
    wanted = expected.split()
    verdict = judged(problem, path, "-s", "run.timeout_ms=3s")
    codes = {violation["code"] for violation in verdict["integrity"]["violations"]}
    if "charged" in wanted and verdict["status"] == "passed":
        assert verdict["timing"]["speedup"] < 0.01, verdict
    else:
        assert verdict["status"] in wanted, verdict
    assert {word for word in wanted if word.startswith("H")} <= codes, verdict
    assert verdict["device"].startswith("cuda:0 ")
    if verdict["status"] == "runtime_error":
        assert verdict["error"]["message"], verdict


SUITE_NAMES = ("reference.cu",) + tuple(
    f"tests/{name}.cu" for name in ("fast", "wrong", "device", "device_wrong")
)


def suite():
    for folder in sorted(NATIVE.iterdir()):
        if (folder / "reference.cu").exists():
            for name in SUITE_NAMES:
                if (folder / name).exists():
                    yield folder.name, name


@pytest.mark.parametrize(("problem", "name"), list(suite()))
def test_suite(problem, name):
    """References answer as the oracle does; what is right passes, what is wrong does not."""
    verdict = judged(problem, NATIVE / problem / name)
    assert verdict["status"] == ("wrong" if "wrong" in name else "passed"), verdict
    if verdict["status"] == "passed":
        assert verdict["timing"]["candidate"]["median"] > 0
        assert "Landlock" in verdict["environment"]["sandbox"]["layers"]
        assert "seccomp filter" in verdict["environment"]["sandbox"]["layers"]


def test_the_next_one_after_a_hang():
    """A kernel that never ends costs its own candidate only."""
    judged("relu", HERE / "hacks" / "h58_never_ends.cu", "-s", "run.timeout_ms=1s")
    start = time.monotonic()
    verdict = judged("relu", NATIVE / "relu" / "reference.cu")
    assert verdict["status"] == "passed", verdict
    print(f"the next verdict after {time.monotonic() - start:.1f} s")


def test_facts(tmp_path):
    """What NVML reports and what is measured of each GPU is possible."""
    image = tmp_path / "peaks.cubin"
    source = ROOT / "src" / "device" / "gpu_peaks.cu"
    subprocess.run(["nvcc", "-cubin", "-O3", "-arch=native", "-o", image, source], check=True)
    program = ROOT / "build" / "tests" / "gpu" / "facts"
    done = subprocess.run(
        [program, image], capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout)


def test_fast_paths(tmp_path):
    """The judge's kernels against fill.c and compare.c."""
    image = tmp_path / "work.cubin"
    source = ROOT / "src" / "judge" / "gpu" / "gpu_work.cu"
    subprocess.run(["nvcc", "-cubin", "-O3", "-arch=native", "-o", image, source], check=True)
    program = ROOT / "build" / "tests" / "gpu" / "work"
    done = subprocess.run(
        [program, image], capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout)
