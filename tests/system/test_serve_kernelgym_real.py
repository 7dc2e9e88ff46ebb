"""KernelGYM's bundled client against a server that really judges: PyTorch and Triton on the CPU."""

import contextlib
import importlib.util
import re
import signal

import pytest
import serving
import support
from test_serve_kernelgym import FIELDS, NUMBERS, client_reads
from vectors import vector

pytestmark = pytest.mark.skipif(
    not importlib.util.find_spec("torch"), reason="no PyTorch (./setup.sh installs it)"
)

TRITON = """import torch, torch.nn as nn, triton, triton.language as tl
@triton.jit
def relu_kernel(x, y, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    m = at < n
    tl.store(y + at, tl.maximum(tl.load(x + at, mask=m), 0), mask=m)
class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        n = x.numel()
        relu_kernel[(triton.cdiv(n, 4096),)](x, y, n, B=4096)
        return %s
"""
# As a kernel that tunes itself when it is called first.
SLOW_AT_FIRST = TRITON.replace(
    "        y = torch",
    """        if not hasattr(self, "tuned"):
            __import__("time").sleep(4)
            self.tuned = True
        y = torch""",
)
PLAIN = "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        %s\n"
ENDED_WELL = {"status": "completed", "compiled": True, "correctness": True, "decoy_kernel": False}
FAILED = {"correctness": False, "speedup": 0.0}
KERNELS = {
    "correct": (TRITON % "y", ENDED_WELL),
    "slow at first": (SLOW_AT_FIRST % "y", ENDED_WELL),
    "wrong": (TRITON % "y + 1", {"compiled": True, "decoy_kernel": False} | FAILED),
    "not compiling": (PLAIN % "return torch.relu(x", {"status": "failed"}),
    "timeout": (PLAIN % "while True: pass", {"status": "timeout"}),
    "crash": (PLAIN % "import ctypes; ctypes.string_at(0)", {"compiled": True} | FAILED),
    "decoy": (TRITON % "torch.relu(x)", {"decoy_kernel": True}),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory, cache):
    warpgym = support.Warpgym(tmp_path_factory.mktemp("kernelgym"), cache)
    with contextlib.closing(Judging(warpgym)) as server:
        yield server
    warpgym.check_nothing_left()


class Judging(serving.Server):
    """With its worker inside."""

    def __init__(self, warpgym):
        super().__init__(warpgym, "--workers", "1", "--set", "run.timeout_ms=3s")

    def close(self):
        assert self.stop(signal.SIGTERM) == 0


@pytest.mark.parametrize("outcome", KERNELS)
def test_the_client_sequence(server, outcome):
    code, wanted = KERNELS[outcome]
    if "triton" in code and not importlib.util.find_spec("triton"):
        pytest.skip("no Triton here")
    body = vector("request")
    body |= {"task_id": re.sub(r"\W", "_", outcome), "kernel_code": code}
    body |= {"timeout": 10 if outcome == "timeout" else 30}
    answer = server.post("/evaluate", body)
    assert answer.status == 200, answer
    read = client_reads(server, body["task_id"])
    assert {key: read.get(key) for key in wanted} == wanted, (read, answer.json)
    assert bool(read["error_message"]) == (outcome not in ("correct", "slow at first"))
    if read["status"] == "completed":
        assert set(read) == {*FIELDS, *NUMBERS}
