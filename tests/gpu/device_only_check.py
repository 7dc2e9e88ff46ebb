"""Device-only candidates on a real GPU: python3 tests/gpu/device_only_check.py, after `make tests`.

Prints what NVRTC was found, whether it compiles what it should, what becomes of each solution and
hack, how long the stages of a first build take in a warm process, and how errors of a device read.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
WARPGYM = Path(os.environ.get("TEST_WARPGYM") or ROOT / "warpgym")
NATIVE = ROOT / "problems" / "native"
BAR_MS = 250
FRESH = 12

ERRORS = {
    "illegal address": "// launch: k grid=(1) block=(32) args=(x, y, n)\n"
    "__global__ void k(const float *x, float *y, size_t n) { y[1ull << 40] = x[0]; }\n",
    "assertion": "#include <assert.h>\n// launch: k grid=(1) block=(32) args=(x, y, n)\n"
    "__global__ void k(const float *x, float *y, size_t n) { assert(x == y); }\n",
    "shared memory": "// launch: k grid=(1) block=(32) shared=240000 args=(x, y, n)\n"
    "__global__ void k(const float *x, float *y, size_t n) { y[0] = x[0]; }\n",
    "static shared memory": "// launch: k grid=(1) block=(32) shared=200000 args=(x, y, n)\n"
    "__global__ void k(const float *x, float *y, size_t n)\n"
    "{ __shared__ float held[10000]; held[threadIdx.x] = x[0]; y[0] = held[n % 32]; }\n",
    "registers": "// launch: k grid=(1) block=(1024) args=(x, y, n)\n"
    "__global__ void __launch_bounds__(256, 1) k(const float *x, float *y, size_t n)\n"
    "{ float a[200]; for (int i = 0; i < 200; i++) a[i] = x[i % n];\n"
    "  for (int k = 0; k < 9; k++)\n"
    "    for (int i = 0; i < 200; i++) a[i] = a[i] * a[(i + 7) % 200] + k;\n"
    "  float s = 0; for (int i = 0; i < 200; i++) s += a[i]; y[0] = s; }\n",
    "wrong size of a parameter": "// launch: k grid=(1) block=(32) args=(x, y, n)\n"
    "__global__ void k(const float *x, float *y, int n) { y[0] = x[0] * n; }\n",
    "no such kernel": "// launch: l grid=(1) block=(32) args=(x, y, n)\n"
    "__global__ void k(const float *x, float *y, size_t n) { y[0] = x[0]; }\n",
    "half precision": "#include <cuda_fp16.h>\n"
    "// launch: k grid=(ceil_div(n, 256)) block=(256) args=(x, y, n)\n"
    "__global__ void k(const float *x, float *y, size_t n)\n"
    "{ size_t i = blockIdx.x * 256 + threadIdx.x;\n"
    "  if (i < n) y[i] = __half2float(__float2half(fmaxf(x[i], 0))); }\n",
}


def evaluate(lines, *options):
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as batch:
        batch.writelines(json.dumps(line) + "\n" for line in lines)
        batch.flush()
        start = time.monotonic()
        done = subprocess.run([WARPGYM, "eval", "--json", "--quiet", *options, batch.name],
                              capture_output=True, text=True, check=False)
        seconds = time.monotonic() - start
    sys.stderr.write(done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()], seconds


def total_ms(verdict):
    return sum(verdict["stages_ms"].values())


def show(title, verdict):
    stages = " ".join(f"{name} {ms:.0f}" for name, ms in verdict["stages_ms"].items() if ms >= 0.5)
    speedup = (verdict["timing"] or {}).get("speedup")
    said = (verdict["error"] or {}).get("message", "")
    print(f"  {title:34} {verdict['status']:14} {total_ms(verdict):5.0f} ms  [{stages}]"
          f"{f'  {speedup:.2f}x' if speedup else ''}  {said[:230]}")


def compiler():
    found = json.loads(subprocess.run([WARPGYM, "doctor", "--json"], capture_output=True,
                                      text=True, check=False).stdout)
    print(f"NVRTC: {found['nvrtc']} {found['nvrtc_error'] or ''}; nvcc: {found['nvcc']}")
    program = WARPGYM.parent / "build" / "tests" / "judge" / "test_device_code"
    if program.exists():
        done = subprocess.run([program], capture_output=True, text=True, check=False, cwd=ROOT)
        print("  compiles what it should:", "yes" if done.returncode == 0 else
              done.stdout + done.stderr)


def suite():
    paths = sorted(NATIVE.glob("*/tests/device*.cu"))
    hacks = sorted(HERE.glob("hacks/*device*.cu")) + sorted(HERE.glob("hacks/*scratch_buffer.cu"))
    lines = [{"problem": path.parents[1].name, "candidate": str(path)} for path in paths]
    lines += [{"problem": "relu", "candidate": str(path)} for path in hacks]
    print("solutions, wrong ones, hacks")
    verdicts, _ = evaluate(lines, "-s", "run.timeout_ms=3s")
    for path, verdict in zip(paths + hacks, verdicts, strict=True):
        show(f"{verdict['problem']['id']}/{path.stem}", verdict)


def first_builds():
    text = (NATIVE / "softmax" / "tests" / "device.cu").read_text()
    lines = [{"problem": "softmax", "source": f"{text}// {i} {time.time_ns()}\n", "name": f"{i}.cu"}
             for i in range(FRESH + 1)]
    verdicts, seconds = evaluate(lines)
    warm = verdicts[1:]
    print(f"first builds in a warm process ({FRESH} texts, {seconds:.1f} s in all)")
    show("the first, which warms it", verdicts[0])
    for stage in warm[0]["stages_ms"]:
        times = sorted(verdict["stages_ms"][stage] for verdict in warm)
        print(f"  {stage:12} median {statistics.median(times):6.1f} ms, most {times[-1]:6.1f} ms")
    middle = statistics.median(map(total_ms, warm))
    print(f"  end to end   median {middle:6.1f} ms; the bar is {BAR_MS} ms")


def errors():
    print("how errors of a device read")
    lines = [{"problem": "relu", "source": text, "name": f"{name.replace(' ', '_')}.cu"}
             for name, text in ERRORS.items()]
    verdicts, _ = evaluate(lines, "--no-timing")
    for name, verdict in zip(ERRORS, verdicts, strict=True):
        show(name, verdict)


if __name__ == "__main__":
    compiler()
    suite()
    first_builds()
    errors()
