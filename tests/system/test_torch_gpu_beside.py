"""What a reference, a candidate and other sessions on the same GPU do to each other: with the
stand-ins of test_torch_gpu.py."""

import random
import re

import pytest
from fake_gpu import check, torch_on_gpu
from support import kernelbench_module, write, write_lines
from test_torch_gpu import candidate, judged

pytest.importorskip("torch")


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    return torch_on_gpu(tmp_path_factory.mktemp("python"))


@pytest.fixture
def problem(tmp_path):
    return write(tmp_path / "square.py", kernelbench_module())


# A lock on a byte of a file that both processes may read shows the reference whether a candidate
# runs, on however slow a machine: a clock could not. Each run has its own byte.
DISTURBED = """
import fcntl
import os
import struct
import time
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.file = open(os.__file__)

    def forward(self, x):
        wish = struct.pack("hhqqi0q", fcntl.F_WRLCK, os.SEEK_SET, BYTE, 1, 0)
        met = fcntl.fcntl(self.file, fcntl.F_GETLK, wish)
        if struct.unpack_from("h", met)[0] != fcntl.F_UNLCK:
            time.sleep(0.05)
        return x * 2

def get_inputs():
    return [torch.randn(64)]

def get_init_inputs():
    return []
"""
# It takes long enough that no busy machine hands over slower: the judge would not time it then.
BESIDE = """
import fcntl
import os
import time
import torch.nn as nn

class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.file = open(os.__file__)
        fcntl.lockf(self.file, fcntl.LOCK_SH, 1, BYTE)

    def forward(self, x):
        time.sleep(0.02)
        return x + x
"""


def test_reference_is_timed_alone(warpgym, environment, tmp_path):
    """It takes 50 ms as long as there is a candidate, and next to nothing afterwards, which
    counts."""
    byte = str(random.getrandbits(62))
    disturbed = write(tmp_path / "disturbed.py", DISTURBED.replace("BYTE", byte))
    beside, settings = BESIDE.replace("BYTE", byte), ["-s", "timing.max_samples=6"]
    verdict = judged(warpgym, environment, disturbed, beside, *settings, timed=True)
    assert verdict["status"] == "passed", verdict
    (warning,) = [
        each for each in verdict["integrity"]["warnings"] if each["code"] == "H29"
    ]
    seen_ms, alone_ms = map(
        float, re.findall(r"([0-9.e+-]+)(?: ms,| once)", warning["evidence"])
    )
    assert seen_ms > 25 > alone_ms, warning
    timing = verdict["timing"]
    reference_ms = timing["reference"]["median"]
    assert reference_ms < 25, timing
    assert timing["speedup"] * timing["candidate"]["median"] == pytest.approx(
        reference_ms, 1e-3
    )


def test_a_slow_candidate_is_no_timeout(warpgym, environment, problem):
    """An interval holds as many calls as the reference wants, and fewer of one so much slower."""
    slow = candidate("import time; time.sleep(0.3)")
    limits = ["-s", "run.timeout_ms=3s", "-s", "audit.budget_ms=0"]
    verdict = judged(warpgym, environment, problem, slow, *limits, timed=True)
    assert verdict["status"] == "passed", verdict["error"]
    assert verdict["timing"]["candidate"]["median"] == pytest.approx(300, rel=0.5)


# Both hold a lock on the byte; the first has a call that never ends where it is not alone.
STANDS_STILL = BESIDE.replace(
    "        time.sleep(0.02)\n",
    """        self.calls = getattr(self, "calls", 0) + 1
        wish = struct.pack("hhqqi0q", fcntl.F_WRLCK, os.SEEK_SET, BYTE, 1, 0)
        met = fcntl.fcntl(self.file, fcntl.F_GETLK, wish)
        if self.calls > 9 and struct.unpack_from("h", met)[0] != fcntl.F_UNLCK:
            time.sleep(600)
""",
).replace("import os", "import os\nimport struct")


def test_a_gpu_that_stood_still(warpgym, environment, problem):
    """A call that ends only without the other session is no timeout."""
    byte = str(random.getrandbits(62))
    problem.write_text(DISTURBED.replace("time.sleep(0.05)", "pass").replace("BYTE", byte))
    texts = {"slow": BESIDE.replace("0.02", "0.5"), "stands_still": STANDS_STILL}
    pairs = [
        (problem, write(problem.parent / f"{name}.py", text.replace("BYTE", byte)))
        for name, text in texts.items()
    ]
    lines = [{"problem": str(one), "candidate": str(answer)} for one, answer in pairs]
    batch = write_lines(problem.parent / "batch.jsonl", lines)
    limits = ["-s", "run.timeout_ms=3s", "-s", "audit.budget_ms=0", "-s", "log.level=info"]
    run = warpgym("eval", "--json", "--jobs", "2", *limits, batch, environment=environment)
    assert [verdict["status"] for verdict in run.verdicts] == ["passed"] * 2, run
    assert "judged once more: one call took longer than" in run.err


def test_busy_processors_are_no_disturbance(warpgym, environment, tmp_path):
    """As above, of a reference that never waits for the GPU: it is the processor that is slow."""
    byte = str(random.getrandbits(62))
    ahead = DISTURBED.replace("BYTE", byte) + "\ntorch.runs_ahead = True\n"
    disturbed = write(tmp_path / "disturbed.py", ahead)
    beside, settings = BESIDE.replace("BYTE", byte), ["-s", "timing.max_samples=6"]
    verdict = judged(warpgym, environment, disturbed, beside, *settings, timed=True)
    assert verdict["status"] == "passed", verdict
    assert not [
        each for each in verdict["integrity"]["warnings"] if each["code"] == "H29"
    ]
    assert verdict["timing"]["reference"]["median"] > 25, verdict["timing"]


# A reference that finds no memory while another session's candidate holds a lock, and a candidate
# that waits for that.
CROWDED = """
import fcntl
import os
import struct
import torch
import torch.nn as nn

def held():
    wish = struct.pack("hhqqi0q", fcntl.F_WRLCK, os.SEEK_SET, BYTE, 1, 0)
    with open(os.__file__) as file:
        return struct.unpack_from("h", fcntl.fcntl(file, fcntl.F_GETLK, wish))[0] != fcntl.F_UNLCK

class Model(nn.Module):
    def forward(self, x):
        if held():
            raise torch.OutOfMemoryError("no room")
        return x * 2

def get_inputs():
    return [torch.randn(64)]

def get_init_inputs():
    return []
"""
WAITS = """
import time

class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        for _ in range(30):
            time.sleep(0 if held() else 0.1)

    def forward(self, x):
        return x + x
"""


def test_reference_without_memory_on_a_shared_gpu(warpgym, environment, tmp_path):
    """Its problem is judged again, exclusively."""
    byte = str(random.getrandbits(62))
    crowded = CROWDED.replace("BYTE", byte)
    holds = BESIDE.replace("BYTE", byte).replace("sleep(0.02)", "sleep(0.5)")
    answers = {
        "doubled": (
            DISTURBED.replace("time.sleep(0.05)", "pass").replace("BYTE", byte),
            holds,
        ),
        "crowded": (crowded, crowded.split("class Model")[0] + WAITS),
    }
    tasks = [
        {
            "problem": str(write(tmp_path / f"{name}.py", problem)),
            "candidate": str(write(tmp_path / f"{name}_answer.py", answer)),
        }
        for name, (problem, answer) in answers.items()
    ]
    batch = write_lines(tmp_path / "batch.jsonl", tasks)
    run = warpgym(
        "eval", "--json", "--quiet", "--jobs", "2", "--no-timing", "-s", "gpu.devices=0", batch,
        environment=environment,
    )  # fmt: skip
    found = [(verdict["status"], verdict["error"]) for verdict in run.verdicts]
    assert found == [("passed", None)] * 2


def test_reference_that_does_not_fit(warpgym, environment, tmp_path):
    """Alone on the GPU it has too little: the verdict says so, with the figures."""
    text = kernelbench_module().replace(
        "return", "raise torch.OutOfMemoryError('no room')  #", 1
    )
    verdict = judged(
        warpgym, environment, write(tmp_path / "large.py", text), candidate()
    )
    check(
        verdict, "unsupported", "problem large needs more memory than Fake GPU 0 has, "
    )
    assert (
        verdict["error"]["class"] == "gpu_memory"
        and "GiB" in verdict["error"]["message"]
    )
