"""What a reference, a candidate and other sessions on the same GPU do to each other: with the
stand-ins of test_torch_gpu.py."""

import random
import re

import pytest
from fake_gpu import check, torch_on_gpu
from support import kernelbench_module, wait_until, write, write_lines
from test_torch_gpu import candidate, judged

pytest.importorskip("torch")


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    return torch_on_gpu(tmp_path_factory.mktemp("python"))


# A lock on a byte of a file that all processes may read shows whether a candidate that holds it
# runs, on however slow a machine: a clock could not. Each run has its own byte. A process that
# looks so loses its own lock.
HELD = """
import fcntl
import os
import struct
import time
import torch
import torch.nn as nn

def held():
    wish = struct.pack("hhqqi0q", fcntl.F_WRLCK, os.SEEK_SET, BYTE, 1, 0)
    with open(os.__file__) as file:
        return struct.unpack_from("h", fcntl.fcntl(file, fcntl.F_GETLK, wish))[0] != fcntl.F_UNLCK
"""
DISTURBED = HELD + """
class Model(nn.Module):
    def forward(self, x):
        if held():
            time.sleep(0.05)
        return x * 2

def get_inputs():
    return [torch.randn(64)]

def get_init_inputs():
    return []
"""
DOUBLED = DISTURBED.replace("time.sleep(0.05)", "pass")
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


def judged_beside(warpgym, environment, folder, pairs, *arguments):
    """The run that judges two candidates at a time: by name, the problem's text and its own, in
    which BYTE is the byte."""
    byte = str(random.getrandbits(62))
    tasks = [
        {
            part: str(write(folder / f"{name}_{part}.py", text.replace("BYTE", byte)))
            for part, text in zip(("problem", "candidate"), pair, strict=True)
        }
        for name, pair in pairs.items()
    ]
    batch = write_lines(folder / "batch.jsonl", tasks)
    run = ("eval", "--json", "--jobs", "2", *arguments, batch)
    return warpgym(*run, environment=environment)


def disturbances(verdict):
    return [each for each in verdict["integrity"]["warnings"] if each["code"] == "H29"]


def test_reference_is_timed_alone(warpgym, environment, tmp_path):
    """It takes 50 ms as long as there is a candidate, and next to nothing afterwards, which
    counts."""
    byte = str(random.getrandbits(62))
    disturbed = write(tmp_path / "disturbed.py", DISTURBED.replace("BYTE", byte))
    beside, settings = BESIDE.replace("BYTE", byte), ["-s", "timing.max_samples=6"]
    verdict = judged(warpgym, environment, disturbed, beside, *settings, timed=True)
    assert verdict["status"] == "passed", verdict
    (warning,) = disturbances(verdict)
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


# Slow beside the first candidate only, and else so long that no moment's delay counts.
DISTURBED_ONCE = DISTURBED.replace("class Model", "beside = [False]\n\nclass Model").replace(
    "if held():",
    "now = held()\n        time.sleep(0.02)\n        if beside[-1] != now:\n"
    "            beside.append(now)\n        if now and len(beside) < 3:",
)


def test_a_busy_machine_that_recovers(warpgym, environment, tmp_path):
    """A reference that is faster without its candidate may have been slowed by neither of them:
    both are timed once more before that counts."""
    byte = str(random.getrandbits(62))
    problem = write(tmp_path / "disturbed.py", DISTURBED_ONCE.replace("BYTE", byte))
    answer = write(tmp_path / "answer.py", BESIDE.replace("BYTE", byte))
    limits = ["-s", "timing.max_samples=6", "-s", "audit.budget_ms=0", "-s", "log.level=info"]
    run = warpgym(
        *("eval", "--json", *limits, "--problem", problem, answer), environment=environment
    )
    check(run.verdict, "passed")
    assert disturbances(run.verdict) == [], run.verdict
    assert "others may have slowed the reference" in run.err


def test_a_slow_candidate_is_no_timeout(warpgym, environment, tmp_path):
    """An interval holds as many calls as the reference wants, and fewer of one so much slower."""
    problem = write(tmp_path / "square.py", kernelbench_module())
    slow = candidate("import time; time.sleep(0.3)")
    limits = ["-s", "run.timeout_ms=3s", "-s", "audit.budget_ms=0"]
    verdict = judged(warpgym, environment, problem, slow, *limits, timed=True)
    assert verdict["status"] == "passed", verdict["error"]
    assert verdict["timing"]["candidate"]["median"] == pytest.approx(300, rel=0.5)


# From some call on, which is timed, it never answers where it is not alone.
STANDS_STILL = HELD + """
class ModelNew(nn.Module):
    calls = 0

    def forward(self, x):
        self.calls += 1
        if self.calls > 9 and held():
            time.sleep(600)
        return x + x
"""


def test_a_gpu_that_stood_still(warpgym, environment, tmp_path):
    """A call that ends only without the other session is no timeout."""
    pairs = {
        "slow": (DOUBLED, BESIDE.replace("0.02", "0.5")),
        "stands_still": (DOUBLED, STANDS_STILL),
    }
    limits = ["-s", "run.timeout_ms=3s", "-s", "audit.budget_ms=0", "-s", "log.level=info"]
    run = judged_beside(warpgym, environment, tmp_path, pairs, *limits)
    assert [verdict["status"] for verdict in run.verdicts] == ["passed"] * 2, run
    assert "judged once more: one call took longer than" in run.err


def test_a_gpu_that_another_process_keeps_busy(warpgym, environment, tmp_path):
    """Nothing can be timed meanwhile. It is judged again, once that has ended or not."""
    problem = write(tmp_path / "square.py", kernelbench_module())
    answer = write(tmp_path / "answer.py", kernelbench_module().replace("Model", "ModelNew"))
    busy = write(tmp_path / "busy", "")
    log = tmp_path / "log"

    def start(**options):
        return warpgym.start(
            *("eval", "--json", "-s", "log.level=info", "-s", "audit.budget_ms=0"),
            *("--problem", problem, answer),
            environment=environment | {"FAKE_CUDA_BUSY": str(busy)},
            **options,
        )

    verdict = warpgym.finish(start()).verdict
    check(verdict, "infrastructure_error", "another process uses this GPU")
    with log.open("w", encoding="utf-8") as stderr:
        run = start(stderr=stderr)
        wait_until(lambda: "judged once more: another process" in log.read_text(), "second try")
        busy.unlink()
        check(warpgym.finish(run).verdict, "passed")


# Slow while a candidate of its own is there, and one of another session's.
DISTURBED_TWICE = HELD.replace("held", "others").replace("BYTE", "OTHER") + DISTURBED.replace(
    "if held()", "if others() and held()"
)
WAITING = HELD.replace("BYTE", "OTHER") + BESIDE.replace(
    "        self.file",
    "        for _ in range(30):\n            time.sleep(0 if held() else 0.1)\n        self.file",
)


# It is checked for longer than the other evaluation takes.
SLOW_AT_FIRST = BESIDE.replace(
    "time.sleep(0.02)", "self.calls += 1\n        time.sleep(2 if self.calls < 5 else 0.02)"
).replace("    def __init__", "    calls = 0\n\n    def __init__")


def test_a_reference_that_others_made_slow(warpgym, environment, tmp_path):
    """It is timed once more, alone: what its candidate takes beside others is no smaller then."""
    other = str(random.getrandbits(62))
    pairs = {
        "slow": (DOUBLED, SLOW_AT_FIRST.replace("BYTE", other)),
        "disturbed": [text.replace("OTHER", other) for text in (DISTURBED_TWICE, WAITING)],
    }
    limits = ["-s", "timing.max_samples=6", "-s", "audit.budget_ms=0", "-s", "log.level=info"]
    run = judged_beside(warpgym, environment, tmp_path, pairs, *limits)
    assert [verdict["status"] for verdict in run.verdicts] == ["passed"] * 2, run
    for verdict in run.verdicts:
        assert disturbances(verdict) == [], verdict
    assert "others may have slowed the reference" in run.err


def test_busy_processors_are_no_disturbance(warpgym, environment, tmp_path):
    """As above, of a reference that never waits for the GPU: it is the processor that is slow."""
    byte = str(random.getrandbits(62))
    ahead = DISTURBED.replace("BYTE", byte) + "\ntorch.runs_ahead = True\n"
    disturbed = write(tmp_path / "disturbed.py", ahead)
    beside, settings = BESIDE.replace("BYTE", byte), ["-s", "timing.max_samples=6"]
    verdict = judged(warpgym, environment, disturbed, beside, *settings, timed=True)
    assert verdict["status"] == "passed", verdict
    assert disturbances(verdict) == []
    assert verdict["timing"]["reference"]["median"] > 25, verdict["timing"]


# A reference that finds no memory while another session's candidate holds a lock, and a candidate
# that waits for that.
CROWDED = HELD + """
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
WAITS = HELD + """
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
    pairs = {
        "doubled": (DOUBLED, BESIDE.replace("0.02", "0.5")),
        "crowded": (CROWDED, WAITS),
    }
    limits = ["--quiet", "--no-timing", "-s", "gpu.devices=0"]
    run = judged_beside(warpgym, environment, tmp_path, pairs, *limits)
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


@pytest.mark.parametrize("slow", ["reference", "candidate"])
def test_what_loads_lets_others_be_timed(warpgym, environment, tmp_path, slow):
    """One that loads for longer than this test may take."""
    problem = write(tmp_path / "square.py", kernelbench_module())
    texts = {"reference": kernelbench_module(), "candidate": candidate()}
    texts[slow] += "\nimport time; time.sleep(600)\n"
    long = write(tmp_path / "slow.py", texts["reference"])
    answer = write(tmp_path / "slow_candidate.py", texts["candidate"])
    limits = ["-s", "audit.budget_ms=0", "-s", "run.load_timeout_ms=600s"]
    loads = warpgym.start(
        *("eval", "--json", *limits, "-s", "log.level=debug", "--problem", long, answer),
        environment=environment,
    )
    assert any(b"GPU 0: 1 of 4 slots" in line for line in loads.stderr)
    limits = ["-s", "audit.budget_ms=0"]
    beside = judged(warpgym, environment, problem, candidate(), *limits, timed=True)
    assert beside["status"] == "passed", beside
    assert loads.poll() is None
