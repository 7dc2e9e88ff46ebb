"""The stand-ins of tests/fake for the parts of a machine with GPUs."""

from support import CHECKOUT, PASSED, PYTHON, ROOT, SOME_FAILED, write

SOURCES = ROOT / "tests" / "fake"
BUILT = CHECKOUT / "build" / "tests" / "fake"
DRIVEN = {"WARPGYM_GPU_DRIVER": str(BUILT / "cuda.so"), "WARPGYM_GPU_NVML": str(BUILT / "nvml.so")}
COMPILED = DRIVEN | {"WARPGYM_NVCC": str(SOURCES / "nvcc")}


def torch_on_gpu(folder):
    """The environment of a warpgym whose PyTorch has a GPU: its Python, which is put into that
    folder, starts the stand-in's standby server. No test's folder: candidates could see it. With a
    second GPU one that waits for itself would not be seen: it takes the other."""
    python = write(
        folder / "python3",
        f"""#!/bin/sh
case "$*" in
*warpgym.standby*) exec {PYTHON} -s -W ignore {ROOT}/tests/fake/torch_gpu.py ;;
esac
exec {PYTHON} "$@"
""",
    )
    python.chmod(0o755)
    one = {"FAKE_CUDA_DEVICES": "1"}
    return COMPILED | one | {"WARPGYM_PYTHON": str(python), "WARPGYM_TORCH_DEVICE": "cuda"}


def judged(warpgym, problem, candidate, *arguments, environment, expect=None):
    """The verdict of one run that the judge ended by itself."""
    run = warpgym(
        *("eval", "--json", "--quiet", "--problem", problem, *arguments, candidate),
        environment=environment,
        expect=expect,
    )
    assert expect is not None or run.status in (PASSED, SOME_FAILED), run
    return run.verdict


def check(verdict, status, words="", code=None):
    assert verdict["status"] == status, verdict
    assert words in ((verdict["error"] or {}).get("message") or ""), verdict
    codes = [violation["code"] for violation in verdict["integrity"]["violations"]]
    assert codes == ([code] if code else []), verdict


def make_problem(folder, yaml, reference, for_gpu=None):
    write(folder / "problem.yaml", yaml)
    write(folder / "reference.c", reference)
    if for_gpu:
        write(folder / "reference.cu", for_gpu)
    return folder
