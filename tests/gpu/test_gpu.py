"""CUDA candidates on a real GPU: `make test-gpu`. Each file says in its first line what becomes of
it: `// PROBLEM: STATUS… [CODE]`; `charged`: it passes, and is slow."""

import json
import subprocess
import time
from pathlib import Path

import corpus
import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
NATIVE = ROOT / "problems" / "native"
TIMEOUT_S = 120


def run(*arguments):
    return subprocess.run(
        [corpus.WARPGYM, *arguments], capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )


REASON = corpus.why_not("nvcc", "no nvcc")
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
    codes = corpus.codes(verdict, "violations")
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


@pytest.mark.parametrize(
    ("program", "kernels"), [("facts", "device/gpu_peaks"), ("work", "judge/gpu/gpu_work")]
)
def test_programs(tmp_path, program, kernels):
    """facts: what NVML reports and what is measured of each GPU is possible. work: the judge's
    kernels against fill.c and compare.c."""
    image = tmp_path / "kernels.cubin"
    source = ROOT / "src" / f"{kernels}.cu"
    subprocess.run(["nvcc", "-cubin", "-O3", "-arch=native", "-o", image, source], check=True)
    done = subprocess.run(
        [ROOT / "build" / "tests" / "gpu" / program, image],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout)
