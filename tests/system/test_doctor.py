"""`warpgym doctor`: every layer by name, and what is missing."""

import json
import re

import pytest
from fake_gpu import BUILT, DRIVEN
from support import CHECKOUT, PYTHON, ROOT, SOME_FAILED, fast


def layer_names():
    """Names of the table in sandbox/sandbox.h: doctor must name every layer."""
    text = (ROOT / "src" / "sandbox" / "sandbox.h").read_text(encoding="utf-8")
    table = text[text.index("#define SANDBOX_LAYERS(X)") :].split("\n\n")[0]
    return re.findall(r'X\(LAYER_\w+,\s*"([^"]+)"', table)


def test_table_names_every_layer(warpgym):
    run = warpgym.ok("doctor")
    assert "\x1b" not in run.out and run.err == ""
    names = layer_names()
    assert len(names) >= 10
    for name in names:
        (line,) = [line for line in run.out.splitlines() if re.match(rf"  (ok|--)  {name}  ", line)]
        assert ("keeps out" in line) if "ok" in line[:4] else ("missing" in line)
    for part in ("Compilers", "PyTorch", "Machine", "CPU", "build cache"):
        assert part in run.out


def test_version_names_the_build(warpgym):
    """Version, commit with its date (of a checkout), compiler."""
    version = (ROOT / "VERSION").read_text(encoding="utf-8").strip()
    commit = r"([0-9a-f]{8,}(-dirty)?, \d{4}-\d\d-\d\d|unknown)"
    said = warpgym.ok("--version").out
    form = rf"warpgym {re.escape(version)} \({commit}, (gcc|clang) \d.*\)\n"
    assert re.fullmatch(form, said), said
    assert warpgym.ok("version").out == said


def test_json(warpgym):
    run = warpgym.ok("doctor", "--json")
    found = json.loads(run.out)
    assert list(found["sandbox"]) == layer_names()
    assert all(isinstance(held, bool) for held in found["sandbox"].values())
    assert found["limits_missing"] == []
    assert found["sandbox_error"] is None and found["native_ready_ms"] > 0
    assert found["cc"].startswith("/") and found["cxx"].startswith("/")
    if PYTHON.exists():
        assert found["torch_error"] is None and found["torch_ready_ms"] > 0
        assert found["python"].startswith(str(CHECKOUT))


UNLOADABLE = {
    "native": ("relu", "unloadable.c", "int other_than_solution;"),
    "torch": ("torch/relu_bias", "unloadable.py", "raise ValueError"),
}


@pytest.mark.parametrize("name", ["passes", *UNLOADABLE])
def test_verdicts_name_the_same_layers(warpgym, tmp_path, name):
    """Also of a candidate that never gets as far as OPENED."""
    problem, file_name, text = UNLOADABLE.get(name, ("relu", "", ""))
    if name == "torch" and not PYTHON.exists():
        pytest.skip("no PyTorch")
    candidate = tmp_path / file_name if text else fast("relu")
    if text:
        candidate.write_text(text)
    held = json.loads(warpgym("doctor", "--json").out)["sandbox"]
    verdict = warpgym.eval("-p", problem, candidate).verdict
    assert verdict["status"] == ("load_error" if text else "passed"), verdict["error"]
    sandbox = verdict["environment"]["sandbox"]
    assert sandbox["layers"] == [name for name, there in held.items() if there]
    assert sandbox["missing"] == [name for name, there in held.items() if not there]


def test_missing_compiler_is_named(warpgym):
    run = warpgym("doctor", environment={"WARPGYM_CC": "/nowhere/cc"}, expect=SOME_FAILED)
    assert "no C compiler" in run.out and "WARPGYM_CC" in run.out


def test_missing_cpp_compiler_is_named_and_no_failure(warpgym):
    environment = {"WARPGYM_CXX": "/nowhere/g++"}
    run = warpgym.ok("doctor", environment=environment)
    assert "no C++ compiler" in run.out and "WARPGYM_CXX" in run.out
    example = CHECKOUT / "prompts" / "cpp" / "example1.cpp"
    verdict = warpgym.eval("-p", "row_sum", example, environment=environment).verdict
    assert verdict["status"] == "unsupported" and not verdict["compiled"]
    assert "no C++ compiler" in verdict["error"]["message"]


def test_missing_torch_is_named_and_no_failure(warpgym, tmp_path):
    python = tmp_path / "python3"
    python.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    python.chmod(0o755)
    run = warpgym.ok("doctor", environment={"WARPGYM_PYTHON": str(python)})
    (line,) = [line for line in run.out.splitlines() if str(python) in line]
    assert line.startswith("  --  ")


def test_gpus(warpgym, tmp_path):
    """What the driver shows; a stand-in takes its place: CI has no GPU."""
    (tmp_path / "libcuda.so.1").symlink_to(BUILT / "cuda.so")
    (tmp_path / "libnvidia-ml.so.1").symlink_to(BUILT / "nvml.so")
    environment = {"LD_LIBRARY_PATH": str(tmp_path)}
    run = warpgym.ok("doctor", environment=environment)
    assert "GPU 1  " in run.out and "Fake GPU 1, compute capability 9.0, 32.0 GiB" in run.out
    found = json.loads(warpgym("doctor", "--json", environment=environment).out)
    assert [gpu["ordinal"] for gpu in found["gpus"]] == [0, 1]
    assert found["gpus"][0]["uuid"].startswith("GPU-0010") and found["gpu_error"] is None
    expected = {"usable": True, "problem": None, "mig": False, "sm_mhz": 1755, "sm_max_mhz": 1980}
    expected |= {"temperature_c": 41, "power_w": 215.5, "throttled": [], "processes": 2}
    expected |= {"memory_free_bytes": 15 << 30, "repair_pending": False, "peaks": None}
    assert {key: found["gpus"][1][key] for key in expected} == expected
    assert found["nvidia"]["driver"] == "580.65.06" and found["nvidia"]["cuda"] == "13.0"
    assert {"nvrtc", "cupti", "cublaslt"} <= set(found["nvidia"])
    run = warpgym.ok("doctor", environment={**environment, "FAKE_CUDA_FAIL": "cuInit"})
    assert "cannot start the NVIDIA driver: the fake fails on purpose" in run.out


def gpu_lines(run):
    """What stands below the head GPUs."""
    return run.out[run.out.index("\nGPUs\n") :].splitlines()[2:]


def test_gpus_in_trouble(warpgym):
    broken = {"FAKE_CUDA_FAIL": "cuCtxSynchronize", "FAKE_CUDA_FAIL_ON": "1"}
    run = warpgym.ok("doctor", environment=DRIVEN | broken)
    lines = gpu_lines(run)
    assert lines[0].startswith("  ok  GPU 0  ") and "(15.0 free)" in lines[0]
    assert "SM 1755 of 1980 MHz" in lines[1] and lines[1].startswith("  ok  ")
    assert lines[2].startswith("  --  GPU 1  ") and "the fake fails on purpose" in lines[3]
    run = warpgym("doctor", environment=DRIVEN | {"FAKE_NVML_REASONS": "0x80"})
    (line, *_) = [line for line in gpu_lines(run) if "MHz" in line]
    assert line.startswith("  --  ") and "power brake" in line
    run = warpgym("doctor", environment=DRIVEN | {"FAKE_CUDA_MIG": "1"})
    lines = gpu_lines(run)
    assert "MIG-00102030-" in lines[0] and "a MIG instance" in lines[1]
    assert "SM 1755 of 1980 MHz" in lines[2]  # of its board
    missing = DRIVEN | {"WARPGYM_GPU_NVML": "/nowhere/libnvidia-ml.so.1"}
    run = warpgym("doctor", environment=missing)
    (line,) = [line for line in gpu_lines(run) if "  nvml " in line]
    assert line.startswith("  --  ") and "is not on this machine" in line
    run = warpgym("doctor", "-s", "gpu.devices=7", environment=DRIVEN)
    assert "gpu.devices: there is no GPU '7' among the 2" in run.out
