"""Where the large tensors of calls lie (src/judge/child/tensor_memory.h)."""

import json
import subprocess
import sys

import pytest
from support import CHECKOUT, PYTHON, write

LIBRARY = CHECKOUT / "build" / "libwarpgym_child.so"
needs_torch = pytest.mark.skipif(
    not PYTHON.exists(), reason="no Python with PyTorch: `make setup` makes one"
)

PRELUDE = f"""
import ctypes, json, resource
import torch
torch.set_num_threads(1)
library = ctypes.CDLL({str(LIBRARY)!r})
assert library.tensor_memory_open() == 0
library.blocks_kept.restype = ctypes.c_size_t
def calls(on, poison=False):
    library.tensor_memory_begin(poison) if on else library.tensor_memory_end()
MIB = 1 << 20
"""


def run(code):
    """What it printed as JSON."""
    done = subprocess.run(
        [PYTHON, "-c", PRELUDE + code], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, ""), done
    return json.loads(done.stdout)


def test_without_pytorch():
    code = f"import ctypes; print(ctypes.CDLL({str(LIBRARY)!r}).tensor_memory_open())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=60)
    assert done.stdout == b"-1\n"


@needs_torch
def test_large_tensors_of_calls_are_kept():
    """And no others: neither small ones, nor those that are made between calls."""
    assert run("""
kept = []
def free(count):
    x = torch.empty(count, dtype=torch.uint8)
    x.fill_(1)
    before = library.blocks_kept()
    del x
    kept.append((library.blocks_kept() - before) // MIB)
free(4 * MIB)
calls(True)
free(4 * MIB)
free(2 * MIB - 1)
free(2 * MIB)
free(1024 * MIB + 1)
between = torch.ones(8 * MIB, dtype=torch.uint8)
calls(False)
library.blocks_give_back()
del between  # a call's, whenever it is freed
kept.append(library.blocks_kept() // MIB)
print(json.dumps(kept))
""") == [0, 4, 0, 2, 0, 8]


@needs_torch
def test_what_is_freed_between_calls_is_poisoned():
    """The last answer is none to the next call. What a call frees costs it nothing."""
    assert run("""
def again():
    return torch.empty(MIB)
calls(True)
answer = torch.full((MIB,), 5.0)
calls(False)
del answer
calls(True)
within = again()
poisoned = bool(within.isnan().all())
within.fill_(7.0)
del within
kept = bool((again() == 7).all())
print(json.dumps([poisoned, kept]))
""") == [True, True]


CALLS = """
calls({on})
if {history}:
    double = [torch.ones(n, dtype=torch.float64) for n in (3 << 20, 5 << 20, 12 << 20)]
    double = [one * 2 for one in double]
    del double[1:]
x = torch.ones(11 << 20)
faults = []
for call in range(8):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    y = x * 2
    out = tuple(y[i << 20 : (i + 2) << 20].clone() for i in range(8))
    del y
    faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
print(json.dumps(faults))
"""


@needs_torch
@pytest.mark.parametrize("history", [False, True])
def test_calls_take_no_new_pages(history):
    """A temporary of 44 MiB: with the C library alone calls fault on all of it, unless the process
    once had as much and freed it."""
    assert max(run(CALLS.format(on=True, history=history))[2:]) < 5
    if not history:
        assert max(run(CALLS.format(on=False, history=False))[2:]) >= 20


@needs_torch
def test_what_is_free_makes_way():
    """At an address-space limit; what still does not fit is PyTorch's own error."""
    assert run("""
calls(True)
blocks = [torch.ones(100 * MIB, dtype=torch.uint8) for _ in range(8)]
del blocks
used = int(open("/proc/self/statm").read().split()[0]) * 4096
resource.setrlimit(resource.RLIMIT_AS, (used + 20 * MIB,) * 2)
large = torch.ones(400 * MIB, dtype=torch.uint8)
said = ""
try:
    torch.ones(900 * MIB, dtype=torch.uint8)
except RuntimeError as error:
    said = str(error)
print(json.dumps([int(large[::MIB].long().sum()), "can't allocate memory" in said]))
""") == [400, True]


# --- in a judge's processes ----------------------------------------------------------------------

PROBLEM = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        y = x[:, None, :] * torch.arange(1.0, 33.0)[None, :, None]
        return tuple(y[i : i + 16].clone() for i in range(0, 128, 16))
def get_inputs():
    return [torch.rand(128, 2600)]
def get_init_inputs():
    return []
"""
# The temporary of 43 MB alone is 21 large pages, or 10,400 small ones.
COUNTS = """
import resource
calls = 0
class ModelNew(Model):
    def forward(self, x):
        global calls
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        answer = super().forward(x)
        more = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
        calls += 1
        assert calls < 3 or more < 15, f"call {calls} took {more} new pages"
        return answer
"""


@needs_torch
def test_a_candidate_takes_no_new_pages(warpgym, tmp_path):
    problem = write(tmp_path / "large.py", PROBLEM)
    candidate = write(tmp_path / "same.py", PROBLEM + COUNTS)
    run = warpgym("eval", "--json", "--quiet", "-s", "audit.budget_ms=0", "-p", problem, candidate)
    assert run.verdict["status"] == "passed", run
    assert run.verdict["timing"]["candidate"]["n"] >= 3


@needs_torch
@pytest.mark.parametrize("rows", [16, 64, 256, 1024, 4096])  # answers of 1 KiB to 64 MiB
def test_an_answer_left_out_is_wrong(warpgym, tmp_path, rows):
    """Memory that the kernel has just cleared holds the right zeros."""
    problem = write(tmp_path / "sparse.py", f"""
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        out = torch.zeros(x.shape[0], 8, x.shape[1])
        out[:, 0] = x * 2
        return out
def get_inputs():
    return [torch.rand({rows}, {rows // 8})]
def get_init_inputs():
    return []
""")  # fmt: skip
    candidate = write(tmp_path / "empty.py", """
import torch
class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty(x.shape[0], 8, x.shape[1])
        out[:, 0] = x * 2
        return out
""")  # fmt: skip
    assert warpgym.eval("-p", problem, candidate).verdict["status"] == "wrong"
