"""PyTorch extensions on a GPU: every source of tests/extension/corpus is built by the judge's own
builder, run, and compared with PyTorch. To be run by hand, after `make all tests`:

    python tests/gpu/extension_check.py

Prints a line for each and, at last, the share that took the slim headers, first and cached build of
a ReLU, and what a call costs. Ends with 1 where something is wrong.
"""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "extension"))
import harness
import torch

CALL = """
import time
import torch
from torch.utils.cpp_extension import load_inline
DEVICE = "cuda"
ext = load_inline("calls", "torch::Tensor f(torch::Tensor x, int64_t n) { return x; }\\n",
                  functions=["f"])
inputs = lambda: [torch.zeros(1)]
expected = lambda x: None
def run(x):
    for _ in range(1000):
        ext.f(x, 1)
    start = time.perf_counter()
    for _ in range(100000):
        ext.f(x, 1)
    assert False, f"{(time.perf_counter() - start) * 10:.2f} us"
"""


def report(result):
    good = not result["error"] and result["ran"]
    way = "slim" if result["slim"] else "stock"
    print(f"{result['file']:32} {way:6} {result['ms']:6} ms  {'ok' if good else 'WRONG'}")
    if result["error"]:
        print(result["error"])
    return good


def main():
    capability = torch.cuda.get_device_capability()
    print(torch.cuda.get_device_name(), torch.__version__, f"compute capability {capability}")
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        scratch, cache = folder / "scratch", folder / "cache"
        files = sorted(harness.CORPUS.glob("*.py"))
        results = harness.build(files, scratch, capability, cache)
        good = [report(result) for result in results]
        slim = sum(result["slim"] for result in results)
        print(f"{slim} of {len(results)} with the slim headers, {sum(good)} right")
        relu = harness.CORPUS / "relu.py"
        (again,) = harness.build([relu], scratch, capability, cache)
        # A cache of its own: the glue is compiled, too; then a second one with the glue alone.
        (first,) = harness.build([relu], scratch, capability, folder / "empty")
        other = folder / "relu_other.py"
        other.write_text(relu.read_text(encoding="utf-8").replace("0.0f)", "0.f)"), "utf-8")
        (warm,) = harness.build([other], scratch, capability, folder / "empty")
        print(
            f"ReLU: nothing cached {first['ms']} ms, first build {warm['ms']} ms,"
            f" cached {again['ms']} ms"
        )
        calls = folder / "calls.py"
        calls.write_text(CALL, encoding="utf-8")
        (result,) = harness.build([calls], scratch, capability, cache)
        print("a call with a tensor and a number:", result["error"])
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
