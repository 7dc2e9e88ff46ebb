"""PyTorch extensions, built by the judge's own builder (tests/judge/build_judge.c) for a
candidate process that asks through python/warpgym/extension.py. CUDA sources need nvcc, no GPU."""

import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "extension"))
import harness

pytest.importorskip("torch")
pytestmark = [
    pytest.mark.time_limit(times=4),
    pytest.mark.skipif(
        not harness.JUDGE.exists(), reason=f"{harness.JUDGE} was not built: make tests"
    ),
]
NVCC = harness.nvcc()
FILES = sorted(harness.CORPUS.glob("*.py"))
HEAD = "import torch\nfrom torch.utils.cpp_extension import load_inline\nDEVICE = 'cuda'\n"


def facts(file):
    return {
        line.split(" = ")[0]: line.split(" = ")[1]
        for line in file.read_text(encoding="utf-8").splitlines()
        if line.startswith(("DEVICE = ", "SLIM = "))
    }


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_corpus(file, tmp_path, cache):
    cuda = facts(file)["DEVICE"] == '"cuda"'
    if cuda and not NVCC:
        pytest.skip("no nvcc here")
    if "cublas" in file.stem and not harness.has_header("cublas_v2.h"):
        pytest.skip("this CUDA has no cuBLAS headers")
    (result,) = harness.build([file], tmp_path / "scratch", cache=cache)
    assert result["error"] is None, result["error"]
    assert result["built"] == 1
    assert result["slim"] == (facts(file).get("SLIM") != "False")
    if not cuda:
        assert result["ran"]


def answer(text, tmp_path, capability=(9, 0)):
    file = tmp_path / "candidate.py"
    file.write_text(HEAD + text, encoding="utf-8")
    start = time.monotonic()
    (result,) = harness.build([file], tmp_path / "scratch", capability)
    return result["error"], time.monotonic() - start


def inline(cuda, cpp="torch::Tensor f(torch::Tensor x);", extra=""):
    return f'load_inline("ext", {cpp!r}, {cuda!r}, functions=["f"]{extra})\n'


GOOD = "torch::Tensor f(torch::Tensor x) { return x; }\n"

# What PyTorch's users would see, with the candidate's own line, without compiling it twice.
FAULTS = {
    "syntax": (
        "\n__global__ void k(float *x) { x[0] = 1 }\n" + GOOD,
        "cuda.cu:2",
        'expected a ";"',
    ),
    "unknown name": (
        "__global__ void k(float *x) { x[0] = no_such_thing_1; }\n" + GOOD,
        "cuda.cu:1",
        "no_such_thing_1",
    ),
    "types": ("__global__ void k(float *x) { int y = x; }\n" + GOOD, "cuda.cu:1", "float *"),
    "shared memory": (
        "__global__ void k(float *x) { __shared__ float s[100000]; s[threadIdx.x] = x[0];"
        " __syncthreads(); x[1] = s[7]; }\n" + GOOD,
        "cuda.cu",
        "too much shared data",
    ),
}


@pytest.mark.skipif(not NVCC, reason="no nvcc here")
@pytest.mark.parametrize("name", FAULTS)
def test_certain_faults(name, tmp_path):
    cuda, place, words = FAULTS[name]
    error, _ = answer(inline(cuda), tmp_path)
    assert error.startswith("CompileFailed: ")
    assert place in error
    assert words in error
    assert "torch/include" not in error


@pytest.mark.skipif(not NVCC, reason="no nvcc here")
def test_flags(tmp_path):
    error, _ = answer(inline(GOOD, extra=", extra_cuda_cflags=['-ccbin', 'sh']"), tmp_path)
    assert error == (
        'CompileFailed: the compiler flag "-ccbin" is not available to extensions here'
    )


# The C++ half of a CUDA extension alone: it calls the runtime, and no source ends in .cu.
RUNTIME = """
#include <cuda_runtime.h>
torch::Tensor f(torch::Tensor x) { cudaDeviceSynchronize(); return x; }
"""
NAMED, NOT_NAMED = (
    f'load_inline("ext", {RUNTIME!r}, functions=["f"], with_cuda={value})\n'
    for value in (True, None)
)


@pytest.mark.skipif(not NVCC, reason="no nvcc here")
def test_cuda_without_cuda_sources(tmp_path):
    assert answer(NAMED, tmp_path)[0] is None
    error, _ = answer(NOT_NAMED, tmp_path)
    assert "cuda_runtime.h: No such file" in error


@pytest.mark.parametrize("text", [inline(GOOD), NAMED], ids=["sources", "named"])
def test_cuda_without_gpu(tmp_path, text):
    error, _ = answer(text, tmp_path, (0, 0))
    assert error == "Unsupported: a CUDA extension needs a GPU, and this machine has none"


def test_host_files_stay_secret(tmp_path):
    cpp = '#include "/etc/passwd"\ntorch::Tensor f(torch::Tensor x) { return x; }'
    error, _ = answer(f'load_inline("ext", {cpp!r}, functions=["f"])\n', tmp_path)
    assert error.startswith("CompileFailed: ")
    assert "root:" not in error


def test_errors_at_run_time_are_pytorchs(tmp_path):
    cpp = """torch::Tensor f(torch::Tensor x, int64_t n) {
        TORCH_CHECK(n > 0, "n is ", n);
        return x.view({n, n});
    }"""
    text = (
        f"ext = load_inline('ext', {cpp!r}, functions=['f'])\n"
        + """
def seen(*arguments):
    try:
        ext.f(*arguments)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
DEVICE = "cpu"
inputs = lambda: []
expected = lambda: [True] * 4
def run():
    x = torch.zeros(6)
    return [
        seen(x, 0) == "RuntimeError: n is 0",
        seen(x, 4) == "RuntimeError: shape '[4, 4]' is invalid for input of size 6",
        seen(3, 4).startswith("TypeError: f(): incompatible function arguments. The following"),
        "1. (arg0: torch.Tensor, arg1: " in seen(x, 1.5),
    ]
"""
    )
    error, _ = answer(text, tmp_path)
    assert error is None
