"""CUDA candidates, judged through a driver and a compiler that only look like NVIDIA's.

CI has no GPU. With tests/fake kernels are host code; everything around them is the real thing.
"""

import fake_gpu
import pytest
from fake_gpu import COMPILED, check, make_problem
from support import CHECKOUT, INFRASTRUCTURE, SOME_FAILED, statuses, write, write_lines

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
    return make_problem(folder, YAML, source(linkage=""), source())


@pytest.fixture
def right(tmp_path):
    return write(tmp_path / "right.cu", source())


def judged(warpgym, problem, candidate, *arguments, expect=None, **environment):
    variables = COMPILED | environment
    return fake_gpu.judged(
        warpgym, problem, candidate, *arguments, environment=variables, expect=expect
    )


def batch_of(folder, problem, *sources):
    lines = [
        {"problem": str(problem), "source": text, "name": f"{i}.cu"}
        for i, text in enumerate(sources)
    ]
    return write_lines(folder / "batch.jsonl", lines)


def test_right(warpgym, problem, right):
    verdict = judged(warpgym, problem, right)
    check(verdict, "passed")
    assert verdict["device"] == "cuda:0 Fake GPU 0"
    assert verdict["candidate"]["language"] == "cuda"
    assert verdict["timing"]["speedup"] > 0
    verdict = judged(warpgym, problem, right, "-s", "gpu.devices=1")
    assert verdict["device"] == "cuda:1 Fake GPU 1"


def test_printed(warpgym, problem):
    """Of a process that stood ready, too: what came before the candidate is not among it."""
    text = "#include <stdio.h>\n" + source('    printf("n = %zu\\n", n);')
    path = write(warpgym.folder / "prints.cu", text)
    for processes in (0, 4):
        verdict = judged(
            warpgym, problem, path, "-s", f"gpu.processes={processes}", "--no-timing"
        )
        check(verdict, "passed")
        assert verdict["output"]["text"].startswith("n = 1\nn = 1000\n")


@pytest.mark.parametrize(
    "row",
    [
        ("off", source("    y[n - 1] += 1;"), "wrong", None, "of 1 elements are wrong"),
        (
            "beyond",
            source("    y[n] = 0;"),
            "wrong",
            "H15",
            "it wrote past the end of `y`",
        ),
        (
            "input",
            source("    x[n / 2] = 7;", constness=""),
            "wrong",
            "H08",
            "changed its input",
        ),
        (
            "exits",
            "#include <stdlib.h>\n" + source("    exit(0);"),
            "runtime_error",
            None,
            "exit",
        ),
        (
            "crashes",
            source("    *(volatile int *)8 = 1;"),
            "runtime_error",
            None,
            "SIGSEGV",
        ),
        (
            "linkage",
            source(linkage=""),
            "load_error",
            None,
            'only; define it as extern "C"',
        ),
        ("syntax", source("    no such thing"), "compile_error", None, "syntax.cu:6"),
    ],
)
def test_refused(warpgym, problem, tmp_path, row):
    name, text, status, code, words = row
    check(
        judged(warpgym, problem, write(tmp_path / f"{name}.cu", text)),
        status,
        words,
        code,
    )


def test_slots_fit_into_free_memory(warpgym, problem, right):
    """One interval of the clock takes as many calls as the memory has space for, be it one."""
    for mebibytes in ("64", "14", "8"):
        verdict = judged(warpgym, problem, right, FAKE_CUDA_MEMORY=mebibytes)
        assert verdict["status"] == "passed" and verdict["timing"]["speedup"] > 0, (
            verdict
        )


def test_problem_too_large_for_the_gpu(warpgym, problem, right):
    """The candidate is not to blame, and the message names the bytes."""
    verdict = judged(warpgym, problem, right, FAKE_CUDA_MEMORY="3")
    check(verdict, "unsupported", f"Fake GPU 0 has {3 << 20}:")
    assert verdict["error"]["class"] == "gpu_memory"
    words = verdict["error"]["message"].split()
    needed, each = int(words[6]), int(words[words.index("least,") + 1])
    assert needed == 2 * each > 3 << 20 > each >= 2 * 4 * 200000


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
        (
            "1000",
            "mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)",
        ),
        ("6", "malloc(bytes)"),  # a little in each of many calls
    ],
)
def test_memory_of_this_machine(warpgym, problem, tmp_path, times, how):
    """A CUDA sandbox has no limit on addresses; a process over its memory limit still ends."""
    hoard = write(tmp_path / "hoard.cu", HOARD % (times, how))
    verdict = judged(warpgym, problem, hoard, "-s", "run.memory_bytes=64MiB")
    check(verdict, "out_of_memory", "the setting run.memory_bytes")
    modest = write(tmp_path / "modest.cu", HOARD % ("1", how))
    check(
        judged(warpgym, problem, modest, "-s", "run.memory_bytes=4GiB", "--no-timing"),
        "passed",
    )


def test_c_and_cuda_in_one_batch(warpgym, problem, tmp_path):
    """Each is held against the reference of its own kind, which changes from line to line."""
    lines = [
        {
            "problem": str(problem),
            "source": source(linkage=linkage),
            "name": f"{i}.{kind}",
        }
        for i, (kind, linkage) in enumerate([("cu", 'extern "C"'), ("c", "")] * 3)
    ]
    batch = write_lines(tmp_path / "batch.jsonl", lines)
    run = warpgym.ok("eval", "--json", "--no-timing", batch, environment=COMPILED)
    assert [verdict["device"].split(":")[0] for verdict in run.verdicts] == [
        "cuda",
        "cpu",
    ] * 3


def test_no_reference_for_a_gpu(warpgym, right, tmp_path):
    verdict = judged(
        warpgym, make_problem(tmp_path / "double", YAML, source(linkage="")), right
    )
    check(verdict, "unsupported", "problem double has no reference.cu")
    assert verdict["compiled"]


@pytest.mark.parametrize(
    ("missing", "words"),
    [
        (
            {"WARPGYM_GPU_DRIVER": "/nowhere/libcuda.so"},
            "/nowhere/libcuda.so is not on this mach",
        ),
        ({"WARPGYM_GPU_DEVICES": "5"}, "gpu.devices: there is no GPU '5' among the 2"),
        (
            {"WARPGYM_NVCC": "/nowhere/nvcc"},
            "CUDA cannot run here: there is no CUDA compiler",
        ),
    ],
)
def test_not_on_this_machine(warpgym, problem, right, missing, words):
    verdict = judged(warpgym, problem, right, **missing)
    check(verdict, "unsupported", words)
    assert "WARPGYM_NVCC" not in missing or not verdict["compiled"]


def test_a_reference_that_writes_nothing(warpgym, tmp_path):
    """As one whose kernel cannot be launched; a candidate that does the same must not pass."""
    yaml = YAML.replace("tolerance:", "oracle: false\ntolerance:")
    idle = source().replace("y[i] = factor * x[i]", ";")
    folder = make_problem(tmp_path / "double", yaml, source(linkage=""), idle)
    candidate = write(tmp_path / "idle.cu", idle)
    verdict = judged(warpgym, folder, candidate, expect=INFRASTRUCTURE)
    check(verdict, "infrastructure_error", "it did not write its output 0")


def test_clocks(warpgym, problem, right):
    """NVML's readings during timing; nothing without NVML."""
    timing = judged(warpgym, problem, right)["timing"]
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
    timing = judged(warpgym, problem, right, FAKE_NVML_REASONS="0x44")["timing"]
    assert timing["clocks"]["throttled"] == [
        "software power cap",
        "hardware thermal slowdown",
    ]
    assert (
        "slowed down while this was timed (hardware thermal slowdown)" in timing["note"]
    )
    timing = judged(warpgym, problem, right, WARPGYM_GPU_NVML="/nowhere/nvml.so")[
        "timing"
    ]
    assert timing["clocks"] is None and timing["speedup"] > 0


def test_two_gpus(warpgym, problem, tmp_path):
    """Jobs at the same time go to different GPUs, and each is timed on its own."""
    batch = batch_of(tmp_path, problem, *[source()] * 8)
    run = warpgym.ok("eval", "--json", "--jobs", "2", batch, environment=COMPILED)
    assert {verdict["device"] for verdict in run.verdicts} == {
        "cuda:0 Fake GPU 0",
        "cuda:1 Fake GPU 1",
    }


def test_a_gpu_that_fails_the_judge(warpgym, problem, right):
    """It gets no more work, and what ran there is judged on the other one."""
    broken = {"FAKE_CUDA_FAIL": "cuMemcpyHtoD_v2", "FAKE_CUDA_FAIL_ON": "0"}
    for after in ("0", "1", "4"):  # when it is opened, and while it is used
        verdict = judged(warpgym, problem, right, **broken, FAKE_CUDA_FAIL_AFTER=after)
        check(verdict, "passed")
        assert verdict["device"] == "cuda:1 Fake GPU 1", verdict
    alone = ("-s", "gpu.devices=0")
    verdict = judged(warpgym, problem, right, *alone, expect=INFRASTRUCTURE, **broken)
    check(verdict, "infrastructure_error", "the GPU is in quarantine")


def test_a_gpu_comes_back(warpgym, problem, tmp_path):
    """After its quarantine a process of its own finds that it works again. What the CPU judges
    meanwhile takes longer than the quarantine."""
    broken = {
        "FAKE_CUDA_FAIL": "cuMemcpyHtoD_v2",
        "FAKE_CUDA_FAIL_AFTER": "2",
        "FAKE_CUDA_FAIL_TIMES": "2",  # in the evaluation, and when the judge looks into it
    }
    relu = CHECKOUT / "problems" / "native" / "relu" / "reference.c"
    on_gpu = {"problem": str(problem), "source": source(), "name": "double.cu"}
    on_cpu = {"problem": "relu", "candidate": str(relu)}
    batch = write_lines(tmp_path / "batch.jsonl", [on_gpu, on_cpu, on_gpu, on_gpu])
    settings = ("-s", "gpu.devices=0", "-s", "gpu.quarantine_ms=1ms", "--jobs", "1")
    run = warpgym("eval", "--json", *settings, batch, environment=COMPILED | broken)
    assert statuses(run.verdicts) == ["infrastructure_error"] + ["passed"] * 3, run
    assert (
        "GPU 0 failed and gets no more work for now"
        in run.verdicts[0]["error"]["message"]
    )
    assert run.verdicts[0]["error"]["class"] == "gpu"


def test_faults_of_candidates_are_theirs(warpgym, problem, tmp_path):
    """However many crash, no GPU is given up for it."""
    batch = batch_of(
        tmp_path, problem, *[source("    *(volatile int *)8 = 1;")] * 4, source()
    )
    run = warpgym(
        "eval",
        "--json",
        "-s",
        "gpu.devices=1",
        batch,
        environment=COMPILED,
        expect=SOME_FAILED,
    )
    assert statuses(run.verdicts) == ["runtime_error"] * 4 + ["passed"]
    assert "gets no work" not in run.err
