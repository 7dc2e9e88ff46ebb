"""Device-only CUDA candidates: kernels, and launch lines that say how they are started.

CI has no GPU: tests/fake has a driver that runs kernels as host code (device.h), an nvcc that makes
them, and an NVRTC that knows what was made beforehand. Everything around them is the real thing.
"""

import json
import shutil
import subprocess

import fake_gpu
import pytest
from fake_gpu import BUILT, COMPILED, SOURCES, check
from support import CHECKOUT, ROOT, SOME_FAILED, write, write_lines

ENVIRONMENT = COMPILED | {"WARPGYM_GPU_NVRTC": "/nowhere/libnvrtc.so"}
NATIVE = CHECKOUT / "problems" / "native"
SUITE = sorted(NATIVE.glob("*/tests/device*.cu"))
HACKS = {
    "h04_kept_in_a_scratch_buffer": ("wrong", None),
    "h08_device_spoils_its_input": ("wrong", "H08"),
    "h15_device_past_the_end": ("wrong", "H15"),
    "h58_device_never_ends": ("timeout", None),
}
MINIMUM_FILES = 11

YAML = """name: scaled
summary: Each element, times a factor.
signature: void solution(const float *x, float *y, float factor, size_t rows, size_t cols)
arguments:
  x: {role: in, type: f32, shape: [rows, cols], fill: normal}
  y: {role: out, type: f32, shape: [rows, cols]}
  factor: {role: scalar, type: f32, fill: "uniform(1, 3)"}
  rows: {role: size}
  cols: {role: size}
tolerance: {relative: 1.0e-6, scale: rms}
check: [{rows: 1, cols: 1}, {rows: 5, cols: 17}]
time: [{rows: 40, cols: 100}]
work: {flops: rows*cols, bytes: 8*rows*cols}
"""

REFERENCE = """#include <stddef.h>
void solution(const float *x, float *y, float factor, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows * cols; i++)
        y[i] = factor * x[i];
}
"""

LAUNCH = "// launch: scale grid=(ceil_div(rows*cols, 64)) block=(64) args=(x, y, factor, rows*cols)"

KERNEL = """%s
__global__ void %s(const float *x, float *y, float factor, %s n)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = factor * x[i];
}
"""


def kernel(launch=LAUNCH, name="scale", size="size_t"):
    return KERNEL % (launch, name, size)


def make_problem(folder, yaml=YAML, cuda=None):
    """With a reference for a GPU, which is a host function in CUDA's clothes unless given."""
    host = REFERENCE.replace("void solution", 'extern "C" void solution')
    return fake_gpu.make_problem(folder, yaml, REFERENCE, cuda or host)


@pytest.fixture(scope="module")
def problem(tmp_path_factory):
    return make_problem(tmp_path_factory.mktemp("problems") / "scaled")


def judged(warpgym, problem, candidate, **environment):
    variables = ENVIRONMENT | environment
    return fake_gpu.judged(warpgym, problem, candidate, "--no-timing", environment=variables)


# --- the suite -----------------------------------------------------------------------------------


def host_reference(folder):
    """A problem's reference.c as the host function that stands in for its reference.cu."""
    text = (folder / "reference.c").read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    includes = [line for line in lines if line.startswith("#include")]
    rest = [line for line in lines if not line.startswith("#include")]
    return "".join([*includes, 'extern "C" {\n', *rest, "}\n"])


@pytest.fixture(scope="module")
def suite(module_warpgym, tmp_path_factory):
    """All device-only solutions and hacks, judged in one batch."""
    root = tmp_path_factory.mktemp("suite")
    lines = []
    for path in [*SUITE, *(ROOT / "tests" / "gpu" / "hacks" / f"{name}.cu" for name in HACKS)]:
        original = path.parents[1] if path in SUITE else NATIVE / "relu"
        copy = root / original.name
        if not copy.exists():
            copy.mkdir()
            for name in ("problem.yaml", "reference.c"):
                shutil.copy(original / name, copy / name)
            write(copy / "reference.cu", host_reference(original))
        lines.append({"problem": str(copy), "candidate": str(path)})
    batch = write_lines(root / "batch.jsonl", lines)
    options = ("--jobs", "2", "-s", "run.timeout_ms=5s")
    run = module_warpgym.eval(*options, batch, environment=ENVIRONMENT, expect=SOME_FAILED)
    return {verdict["candidate"]["path"]: verdict for verdict in run.verdicts}


@pytest.mark.parametrize("path", SUITE, ids=lambda path: f"{path.parents[1].name}-{path.stem}")
def test_suite(suite, path):
    assert suite[str(path)]["status"] == ("wrong" if "wrong" in path.stem else "passed"), suite


@pytest.mark.parametrize("name", HACKS)
def test_hacks(suite, name):
    status, code = HACKS[name]
    check(suite[str(ROOT / "tests" / "gpu" / "hacks" / f"{name}.cu")], status, code=code)


def test_there_are_enough():
    assert len(SUITE) >= MINIMUM_FILES


# --- one candidate -------------------------------------------------------------------------------


def test_timed(warpgym, problem, tmp_path):
    candidate = write(tmp_path / "scale.cu", kernel())
    run = warpgym("eval", "--json", "--problem", problem, candidate, environment=ENVIRONMENT)
    assert run.verdict["status"] == "passed", run
    assert run.verdict["device"] == "cuda:0 Fake GPU 0"
    assert run.verdict["timing"]["speedup"] > 0


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("int", kernel(LAUNCH.replace("rows*cols)", "int(rows * cols))"), size="int")),
        ("plain_name", kernel().replace("__global__", 'extern "C" __global__')),
        ("shared", kernel(LAUNCH + " shared=100000")),
        ("indented", "\n  //launch:" + kernel().removeprefix("// launch:")),
        ("with_a_helper", kernel() + "__global__ void scale_more(float *x) { *x = 1; }\n"),
        # What starts its kernels by itself is for nvcc, whatever its comments say.
        ("host", "// launch: one block a row\n#include <stddef.h>\n"
         + 'extern "C"\n' + REFERENCE.split("\n", 1)[1]),
    ],
)
def test_accepted(warpgym, problem, tmp_path, name, text):
    check(judged(warpgym, problem, write(tmp_path / f"{name}.cu", text)), "passed")


@pytest.mark.parametrize(
    "row",
    [
        ("name", kernel(LAUNCH.replace("rows*cols,", "row*cols,")), "compile_error",
         "name.cu:1: error: launch line: grid: 'ceil_div(row*cols, 64)': unknown name 'row'; d"),
        ("key", "\n" + kernel(LAUNCH.replace("block=", "blok=")), "compile_error",
         "key.cu:2: error: launch line: unknown key 'blok'; did you mean 'block'?"),
        ("threads", kernel(LAUNCH.replace("(64)", "(64, 32)")), "compile_error",
         "64 x 32 x 1 are more than 1024 threads"),
        ("nothing", kernel(LAUNCH.replace("ceil_div(rows*cols, 64)", "rows - 1")), "compile_error",
         "with rows=1 cols=1: grid: rows - 1 is 0 here, and must be a whole number from 1 to"),
        ("kernel", kernel(name="scaled"), "load_error",
         "line 1 launches `scale`, and there is no kernel of that name; there is: _Z6scaled"),
        ("wide", kernel(size="int"), "load_error",
         "parameter 4 of `scale` has 4 bytes, and what `args` passes has 8"),
        ("few", kernel(LAUNCH.replace("factor, ", "")), "load_error",
         "`scale` takes 4 parameters, and `args` passes 3"),
        ("greedy", kernel(LAUNCH + " shared=240000"), "runtime_error",
         "`scale` asks for 240000 bytes of dynamic shared memory; a block has at most 232448"),
        ("syntax", kernel() + "no such thing\n", "compile_error", "syntax.cu:8"),
        ("none", kernel("// nothing is launched"), "compile_error", "none.cu"),
    ],
)  # fmt: skip
def test_refused(warpgym, problem, tmp_path, row):
    name, text, status, words = row
    check(judged(warpgym, problem, write(tmp_path / f"{name}.cu", text)), status, words)


def test_the_problem_says_how(warpgym, tmp_path):
    """Its own line, for a kernel by the name of `solution`, with the signature's parameters."""
    line = "launch: grid=(ceil_div(rows*cols, 64)) block=(64)\n"
    folder = make_problem(tmp_path / "scaled", YAML + line)
    text = kernel("", "solution").replace("size_t n)", "size_t rows, size_t cols)")
    text = text.replace("i < n", "i < rows * cols")
    check(judged(warpgym, folder, write(tmp_path / "solution.cu", text)), "passed")
    # A candidate's own line comes first.
    check(judged(warpgym, folder, write(tmp_path / "scale.cu", kernel())), "passed")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("launch: grid=(row) block=(64)", "problem.yaml:14:9: launch: grid: 'row': unknown name"),
        ("launch: block=(64)", "launch: 'grid=' is missing"),
        ("launch: grid=(rows) block=(64*cols)", "launch: with rows=5 cols=17: block: 64*cols is"),
        ("launch: [rows]", "launch"),
    ],
)
def test_a_problem_that_says_nonsense(warpgym, tmp_path, line, words):
    folder = make_problem(tmp_path / "scaled", YAML + line + "\n")
    run = warpgym("eval", "--problem", folder, write(tmp_path / "scale.cu", kernel()),
                  environment=ENVIRONMENT)
    assert words in run.err, run


# --- NVRTC ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def nvrtc(tmp_path_factory):
    """A stand-in that knows two kernels."""
    folder = tmp_path_factory.mktemp("nvrtc")
    library = shutil.copy(BUILT / "nvrtc.so", folder / "libnvrtc.so")
    sources = {"scale": kernel(), "reference": kernel(name="scale", size="unsigned long")}
    for name, text in sources.items():
        source = write(folder / "kernels" / f"{name}.cu", text)
        subprocess.run([SOURCES / "kernels", source, source.with_suffix(".so")], check=True)
    # What the driver has no use for: as of a compiler that is newer than it.
    sources["newer"] = kernel(LAUNCH + "\n// newer")
    write(folder / "kernels" / "newer.cu", sources["newer"])
    shutil.copy(BUILT / "nvrtc.so", folder / "kernels" / "newer.so")
    return {"WARPGYM_GPU_NVRTC": str(library), "WARPGYM_NVCC": "/nowhere/nvcc"}, sources


def test_without_nvcc(warpgym, tmp_path, nvrtc):
    """Candidate and reference both are device code, compiled where no program can start."""
    environment, sources = nvrtc
    folder = make_problem(tmp_path / "scaled", cuda=sources["reference"])
    candidate = write(tmp_path / "scale.cu", sources["scale"])
    for cached in (False, True):
        verdict = judged(warpgym, folder, candidate, **environment)
        check(verdict, "passed")
        assert verdict["environment"]["build_cached"] == cached


def test_the_driver_says_no(warpgym, tmp_path, nvrtc):
    """Nothing that a candidate could do about."""
    environment, sources = nvrtc
    folder = make_problem(tmp_path / "scaled", cuda=sources["reference"])
    candidate = write(tmp_path / "newer.cu", sources["newer"])
    verdict = judged(warpgym, folder, candidate, **environment)
    check(verdict, "unsupported", "the driver does not take the compiled kernels")


def test_nvrtc_says_no(warpgym, tmp_path, nvrtc):
    environment, sources = nvrtc
    folder = make_problem(tmp_path / "scaled", cuda=sources["reference"])
    candidate = write(tmp_path / "no.cu", kernel() + "#error it is so\n")
    # Nothing that a compiler prints is believed: it has to manage a trivial file before the source
    # is blamed, and this one knows no trivial file, unless the line is the source's own.
    verdict = judged(warpgym, folder, candidate, **environment)
    check(verdict, "compile_error")
    assert verdict["error"]["message"] == "no.cu:8: error: #error it is so"


def test_no_compiler_at_all(warpgym, problem, tmp_path):
    candidate = write(tmp_path / "scale.cu", kernel())
    verdict = judged(warpgym, problem, candidate, WARPGYM_NVCC="/nowhere/nvcc")
    check(verdict, "unsupported", "install NVRTC")


def test_doctor(warpgym, nvrtc):
    environment, _ = nvrtc
    found = json.loads(warpgym("doctor", "--json", environment=environment).out)
    assert found["nvrtc"] == environment["WARPGYM_GPU_NVRTC"] and found["nvrtc_error"] is None
    text = warpgym("doctor", environment=environment).out
    assert f"NVRTC 13.0, {environment['WARPGYM_GPU_NVRTC']}" in text
    found = json.loads(warpgym("doctor", "--json", environment=ENVIRONMENT).out)
    assert found["nvrtc"] is None and "no libnvrtc" in found["nvrtc_error"]
