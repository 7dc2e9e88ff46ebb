"""CUDA candidates, judged through a driver and a compiler that only look like NVIDIA's.

CI has no GPU. With tests/fake kernels are host code; everything around them is the real thing.
"""

import json

import pytest
from support import CHECKOUT, INFRASTRUCTURE, PASSED, ROOT, SOME_FAILED, write, write_lines

DRIVER = CHECKOUT / "build" / "tests" / "fake" / "cuda.so"
NVCC = ROOT / "tests" / "fake" / "nvcc"
NVML = CHECKOUT / "build" / "tests" / "fake" / "nvml.so"
ENVIRONMENT = {
    "WARPGYM_NVCC": str(NVCC),
    "WARPGYM_GPU_DRIVER": str(DRIVER),
    "WARPGYM_GPU_NVML": str(NVML),
}

YAML = """name: double
summary: Twice each element.
signature: void solution(const float *x, float *y, float factor, size_t n)
arguments:
  x: {role: in, type: f32, shape: [n], fill: normal}
  y: {role: out, type: f32, shape: [n]}
  factor: {role: scalar, type: f32, fill: "uniform(1, 3)"}
  n: {role: size}
tolerance: {relative: 1.0e-6, scale: rms}
check: [{n: 1}, {n: 1000}]
time: [{n: 200000}]
work: {flops: n, bytes: 8*n}
"""

LOOP = """#include <stddef.h>
%s void solution(%s float *x, float *y, float factor, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = factor * x[i];
%s
}
"""


def source(extra="", linkage='extern "C"', constness="const"):
    return LOOP % (linkage, constness, extra)


@pytest.fixture(scope="module")
def problem(tmp_path_factory):
    folder = tmp_path_factory.mktemp("problems") / "double"
    folder.mkdir()
    write(folder / "problem.yaml", YAML)
    write(folder / "reference.c", source(linkage=""))
    write(folder / "reference.cu", source())
    return folder


def judged(warpgym, problem, candidate, *arguments, **environment):
    run = warpgym(
        "eval",
        "--json",
        "--problem",
        problem,
        *arguments,
        candidate,
        environment={**ENVIRONMENT, **environment},
    )
    assert run.status in (PASSED, SOME_FAILED), run
    return run.verdict


def test_right(warpgym, problem, tmp_path):
    verdict = judged(warpgym, problem, write(tmp_path / "right.cu", source()))
    assert verdict["status"] == "passed", verdict
    assert verdict["device"] == "cuda:0 Fake GPU 0"
    assert verdict["candidate"]["language"] == "cuda"
    assert verdict["timing"]["speedup"] > 0
    verdict = judged(warpgym, problem, tmp_path / "right.cu", "-s", "gpu.devices=1")
    assert verdict["device"] == "cuda:1 Fake GPU 1"


@pytest.mark.parametrize(
    "row",
    [
        ("off", source("    y[n - 1] += 1;"), "wrong", None, "of 1 elements are wrong"),
        ("beyond", source("    y[n] = 0;"), "wrong", "H15", "it wrote past the end of `y`"),
        ("input", source("    x[n / 2] = 7;", constness=""), "wrong", "H08", "changed its input"),
        ("exits", "#include <stdlib.h>\n" + source("    exit(0);"), "runtime_error", None, "exit"),
        ("crashes", source("    *(volatile int *)8 = 1;"), "runtime_error", None, "SIGSEGV"),
        ("linkage", source(linkage=""), "load_error", None, 'in CUDA C++ as extern "C"'),
        ("syntax", source("    no such thing"), "compile_error", None, "syntax.cu:6"),
    ],
)
def test_refused(warpgym, problem, tmp_path, row):
    name, text, status, code, words = row
    verdict = judged(warpgym, problem, write(tmp_path / f"{name}.cu", text))
    assert verdict["status"] == status, verdict
    assert words in verdict["error"]["message"], verdict
    codes = [violation["code"] for violation in verdict["integrity"]["violations"]]
    assert codes == ([code] if code else [])


def test_slots_fit_into_free_memory(warpgym, problem, tmp_path):
    """One interval of the clock takes as many calls as there is room for, be it one."""
    right = write(tmp_path / "right.cu", source())
    for mebibytes in ("64", "14", "8"):
        verdict = judged(warpgym, problem, right, FAKE_CUDA_MEMORY=mebibytes)
        assert verdict["status"] == "passed" and verdict["timing"]["speedup"] > 0, verdict


def test_problem_too_large_for_the_gpu(warpgym, problem, tmp_path):
    """The candidate is not to blame, and the message names the bytes."""
    right = write(tmp_path / "right.cu", source())
    verdict = judged(warpgym, problem, right, FAKE_CUDA_MEMORY="3")
    assert verdict["status"] == "unsupported", verdict
    assert verdict["error"]["class"] == "gpu_memory"
    words = verdict["error"]["message"].split()
    needed, each = int(words[6]), int(words[words.index("least,") + 1])
    assert needed == 2 * each > 3 << 20 > each >= 2 * 4 * 200000
    assert f"Fake GPU 0 has {3 << 20}:" in verdict["error"]["message"]


HOARD = """#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
extern "C" void solution(const float *x, float *y, float factor, size_t n)
{
    static size_t held;
    size_t bytes = (size_t)16 << 20;
    for (size_t times = 0; times < %s && held < (size_t)4 << 30; times++, held += bytes)
        memset(%s, 1, bytes);
    for (size_t i = 0; i < n; i++)
        y[i] = factor * x[i];
}
"""


@pytest.mark.parametrize(
    ("times", "how"),
    [
        ("1000", "malloc(bytes)"),
        ("1000", "mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)"),
        ("6", "malloc(bytes)"),  # a little in each of many calls
    ],
)
def test_memory_of_this_machine(warpgym, problem, tmp_path, times, how):
    """A CUDA sandbox has no limit on addresses; a process over its memory limit still ends."""
    hoard = write(tmp_path / "hoard.cu", HOARD % (times, how))
    verdict = judged(warpgym, problem, hoard, "-s", "run.memory_bytes=64MiB")
    assert verdict["status"] == "out_of_memory", verdict
    assert "the setting run.memory_bytes" in verdict["error"]["message"]
    modest = write(tmp_path / "modest.cu", HOARD % ("1", how))
    verdict = judged(warpgym, problem, modest, "-s", "run.memory_bytes=4GiB", "--no-timing")
    assert verdict["status"] == "passed", verdict


def test_c_and_cuda_in_one_batch(warpgym, problem, tmp_path):
    """Each is held against the reference of its own kind, which changes from line to line."""
    lines = [
        {"problem": str(problem), "source": source(linkage=linkage), "name": f"{i}.{kind}"}
        for i, (kind, linkage) in enumerate([("cu", 'extern "C"'), ("c", "")] * 3)
    ]
    batch = write_lines(tmp_path / "batch.jsonl", lines)
    run = warpgym("eval", "--json", "--no-timing", batch, environment=ENVIRONMENT)
    assert run.status == PASSED, run
    assert [verdict["device"].split(":")[0] for verdict in run.verdicts] == ["cuda", "cpu"] * 3


def test_no_reference_for_a_gpu(warpgym, tmp_path):
    folder = tmp_path / "double"
    folder.mkdir()
    write(folder / "problem.yaml", YAML)
    write(folder / "reference.c", source(linkage=""))
    verdict = judged(warpgym, folder, write(tmp_path / "right.cu", source()))
    assert verdict["status"] == "unsupported" and verdict["compiled"]
    assert "problem double has no reference.cu" in verdict["error"]["message"]


@pytest.mark.parametrize(
    ("driver", "words"), [("/nowhere/libcuda.so", "/nowhere/libcuda.so is not on this machine")]
)
def test_no_driver(warpgym, problem, tmp_path, driver, words):
    candidate = write(tmp_path / "right.cu", source())
    run = warpgym(
        "eval",
        "--json",
        "--problem",
        problem,
        "-s",
        f"gpu.driver={driver}",
        candidate,
        environment={"WARPGYM_NVCC": str(NVCC)},
    )
    assert run.verdict["status"] == "unsupported", run
    assert words in run.verdict["error"]["message"]


def test_no_compiler(warpgym, problem, tmp_path):
    candidate = write(tmp_path / "right.cu", source())
    run = warpgym(
        "eval",
        "--json",
        "--problem",
        problem,
        candidate,
        environment={**ENVIRONMENT, "WARPGYM_NVCC": "/nowhere/nvcc"},
    )
    assert run.verdict["status"] == "unsupported" and not run.verdict["compiled"], run
    assert "CUDA cannot run here: there is no CUDA compiler" in run.verdict["error"]["message"]


def test_a_gpu_that_is_not_there(warpgym, problem, tmp_path):
    candidate = write(tmp_path / "right.cu", source())
    verdict = judged(warpgym, problem, candidate, "-s", "gpu.devices=5")
    assert verdict["status"] == "unsupported", json.dumps(verdict)
    assert "gpu.devices: there is no GPU '5' among the 2" in verdict["error"]["message"]


def test_a_reference_that_writes_nothing(warpgym, problem, tmp_path):
    """As one whose kernel cannot be launched; a candidate that does the same must not pass."""
    folder = tmp_path / "double"
    folder.mkdir()
    for name in ("problem.yaml", "reference.c"):
        text = (problem / name).read_text(encoding="utf-8")
        write(folder / name, text.replace("tolerance:", "oracle: false\ntolerance:"))
    idle = source().replace("y[i] = factor * x[i]", ";")
    write(folder / "reference.cu", idle)
    run = warpgym(
        "eval",
        "--json",
        "--problem",
        folder,
        write(tmp_path / "idle.cu", idle),
        environment=ENVIRONMENT,
    )
    assert run.status == INFRASTRUCTURE, run
    assert run.verdict["status"] == "infrastructure_error"
    assert "it did not write its output 0" in run.verdict["error"]["message"]


def test_clocks(warpgym, problem, tmp_path):
    """NVML's readings during timing; nothing without NVML."""
    candidate = write(tmp_path / "right.cu", source())
    timing = judged(warpgym, problem, candidate)["timing"]
    assert "slowed down" not in (timing["note"] or "")
    assert timing["clocks"] == {
        "sm_mhz": [1755, 1755],
        "sm_lowest_mhz": 1755,
        "sm_max_mhz": 1980,
        "memory_mhz": 3201,
        "temperature_c": 41,
        "power_w": 215.5,
        "throttled": [],
    }
    timing = judged(warpgym, problem, candidate, FAKE_NVML_REASONS="0x44")["timing"]
    assert timing["clocks"]["throttled"] == ["software power cap", "hardware thermal slowdown"]
    assert "slowed down while this was timed (hardware thermal slowdown)" in timing["note"]
    timing = judged(warpgym, problem, candidate, WARPGYM_GPU_NVML="/nowhere/libnvidia-ml.so")[
        "timing"
    ]
    assert timing["clocks"] is None and timing["speedup"] > 0


def test_two_gpus(warpgym, problem, tmp_path):
    """Jobs at the same time go to different GPUs, and each is timed on its own."""
    lines = [{"problem": str(problem), "source": source(), "name": f"{i}.cu"} for i in range(8)]
    batch = write_lines(tmp_path / "batch.jsonl", lines)
    run = warpgym("eval", "--json", "--jobs", "2", batch, environment=ENVIRONMENT)
    assert run.status == PASSED, run
    assert {verdict["device"] for verdict in run.verdicts} == {
        "cuda:0 Fake GPU 0",
        "cuda:1 Fake GPU 1",
    }


def test_a_gpu_that_fails_the_judge(warpgym, problem, tmp_path):
    """It gets no more work, and what ran there is judged on the other one."""
    broken = {"FAKE_CUDA_FAIL": "cuMemcpyHtoD_v2", "FAKE_CUDA_FAIL_ON": "0"}
    candidate = write(tmp_path / "right.cu", source())
    for after in ("0", "1", "4"):  # when it is opened, and while it is used
        verdict = judged(warpgym, problem, candidate, **broken, FAKE_CUDA_FAIL_AFTER=after)
        assert verdict["status"] == "passed", verdict
        assert verdict["device"] == "cuda:1 Fake GPU 1", verdict
    run = warpgym(
        "eval",
        "--json",
        "--problem",
        problem,
        "-s",
        "gpu.devices=0",
        candidate,
        environment={**ENVIRONMENT, **broken},
    )
    assert run.status == INFRASTRUCTURE, run
    assert run.verdict["status"] == "infrastructure_error"
    assert "the GPU is in quarantine" in run.verdict["error"]["message"]


def test_a_gpu_comes_back(warpgym, problem, tmp_path):
    """After its quarantine a process of its own finds that it works again."""
    broken = {
        "FAKE_CUDA_FAIL": "cuMemcpyHtoD_v2",
        "FAKE_CUDA_FAIL_AFTER": "2",
        "FAKE_CUDA_FAIL_TIMES": "2",  # in the evaluation, and when the judge looks into it
    }
    lines = [{"problem": str(problem), "source": source(), "name": f"{i}.cu"} for i in range(3)]
    batch = write_lines(tmp_path / "batch.jsonl", lines)
    settings = ("-s", "gpu.devices=0", "-s", "gpu.quarantine_ms=1ms", "--jobs", "1")
    run = warpgym("eval", "--json", *settings, batch, environment={**ENVIRONMENT, **broken})
    assert [verdict["status"] for verdict in run.verdicts] == [
        "infrastructure_error",
        "passed",
        "passed",
    ], run
    assert "GPU 0 failed and gets no more work for now" in run.verdicts[0]["error"]["message"]
    assert run.verdicts[0]["error"]["class"] == "gpu"


def test_faults_of_candidates_are_theirs(warpgym, problem, tmp_path):
    """However many crash, no GPU is given up for it."""
    text = source("    *(volatile int *)8 = 1;")
    lines = [{"problem": str(problem), "source": text, "name": f"{i}.cu"} for i in range(4)]
    lines.append({"problem": str(problem), "source": source(), "name": "right.cu"})
    batch = write_lines(tmp_path / "batch.jsonl", lines)
    run = warpgym("eval", "--json", "-s", "gpu.devices=1", batch, environment=ENVIRONMENT)
    assert run.status == SOME_FAILED, run
    assert [verdict["status"] for verdict in run.verdicts] == ["runtime_error"] * 4 + ["passed"]
    assert "gets no work" not in run.err
