"""What an evaluation takes of a GPU's memory, and what becomes of one that finds too little."""

import re

import pytest
from fake_gpu import check, judged, torch_on_gpu
from support import PASSED, SOME_FAILED, kernelbench_module, write, write_lines

pytest.importorskip("torch")

# No build of another test's, and no audit: one of its own, with time for it on a busy machine.
NO_CACHE = ["-s", "cache.max_bytes=0", "-s", "audit.budget_ms=60s"]


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    return torch_on_gpu(tmp_path_factory.mktemp("python"))


ROWS = """import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x.sum(1)


def get_inputs():
    return [torch.rand(64, 1 << 17)]


def get_init_inputs():
    return []
"""


def test_inputs_wait_on_the_host(warpgym, environment, tmp_path):
    """32 MiB for each side and as much for the image of them are more than there is."""
    problem = write(tmp_path / "rows.py", ROWS)
    tight = environment | {"FAKE_CUDA_MEMORY": "90"}
    for name, line, status in [("right", "", "passed"), ("wrong", " * 1.5", "wrong")]:
        text = ROWS.replace("Model", "ModelNew").replace("x.sum(1)", "x.sum(1)" + line)
        answer = write(tmp_path / f"{name}.py", text)
        verdict = judged(warpgym, problem, answer, *NO_CACHE, environment=tight)
        assert verdict["status"] == status, verdict
        audit = verdict["problem_audit"]
        assert audit["outcome"] == "unknown", audit
        assert "too little GPU memory for the audit" in audit["reason"], audit
    none = environment | {"FAKE_CUDA_MEMORY": "60"}
    check(judged(warpgym, problem, answer, environment=none), "unsupported", "needs 671")


def test_without_an_oracle(warpgym, environment, tmp_path):
    """Four times 4 MiB for both processes, and twice that for an oracle and its answer: it is
    judged with one, alone with one, and alone without."""
    text = ROWS.replace("x.sum(1)", "x.exp()").replace("1 << 17", "1 << 14")
    problem = write(tmp_path / "wide.py", text)
    answer = write(tmp_path / "answer.py", text.replace("Model", "ModelNew"))
    run = warpgym(
        *("eval", "--json", "--no-timing", "-s", "log.level=info", *NO_CACHE),
        *("-s", "audit.budget_ms=0", "--problem", problem, answer),
        environment=environment | {"FAKE_CUDA_MEMORY": "25"},
        expect=PASSED,
    )
    assert run.err.count("judged once more") == 2, run.err
    assert run.verdict["correctness"]["max_relative_error"] == 0  # against itself


# Asks for memory that there is not, and does without, as a library that has several algorithms.
GREEDY = """
import ctypes

MAPS = [line.split()[-1] for line in open("/proc/self/maps")]
LIBRARY = ctypes.CDLL(next(path for path in MAPS if path.endswith("libwarpgym_child.so")))
LIBRARY.segments_alloc.argtypes = [ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p]


def greedy():
    LIBRARY.segments_alloc(1 << 40, 0, None)
    return 0


"""
GREEDILY = {
    "the reference": ("greedy()", "0", "passed", 1),
    "a candidate": ("0", "greedy()", "passed", 1),
    "a candidate that is wrong": ("0", "greedy() + 1", "wrong", 0),
    "a reference, and a candidate that is wrong": ("greedy()", "1", "wrong", 1),
    "neither": ("0", "0", "passed", 0),
}


@pytest.mark.parametrize("row", GREEDILY)
def test_memory_that_was_refused(warpgym, environment, tmp_path, row):
    """What a process does without it may be slower, or round otherwise: judged once more, alone."""
    *added, status, again = GREEDILY[row]
    texts = [GREEDY + ROWS.replace("x.sum(1)", f"x.sum(1) + {line}") for line in added]
    problem = write(tmp_path / "rows.py", texts[0].replace("1 << 17", "1 << 8"))
    answer = write(tmp_path / "answer.py", texts[1].replace("Model", "ModelNew"))
    run = warpgym(
        *("eval", "--json", "--no-timing", "-s", "log.level=info", *NO_CACHE),
        *("-s", "audit.budget_ms=0", "--problem", problem, answer),
        environment=environment,
        expect=PASSED if status == "passed" else SOME_FAILED,
    )
    assert run.verdict["status"] == status, run
    assert run.err.count("judged once more") == again, run.err
    assert run.err.count("1099511627776 bytes of GPU memory were not there") == again, run.err


@pytest.mark.parametrize("row", [("0", 3), ("20s", 2)], ids=lambda row: row[0])
def test_memory_decides_how_many_at_a_time(warpgym, environment, tmp_path, row):
    """Five times 32 MiB are three slots of 300 MiB, which a problem's forms say before it is opened
    for the first time. An audit may be that, and the first that is judged gets the audit's slot."""
    budget, times = row
    pairs = {"large": ROWS, "small": kernelbench_module()}
    tasks = [
        {
            "problem": str(write(tmp_path / f"{name}.py", text)),
            "candidate": str(
                write(tmp_path / f"{name}_{place}.py", text.replace("Model", "ModelNew"))
            ),
        }
        for place in range(3)
        for name, text in pairs.items()
    ]
    run = warpgym(
        *("eval", "--json", "--no-timing", "--jobs", "3", "-s", "gpu.devices=0"),
        *("-s", "log.level=debug", "-s", "gpu.slots=4", *NO_CACHE),
        *("-s", f"audit.budget_ms={budget}"),
        write_lines(tmp_path / "batch.jsonl", tasks),
        environment=environment | {"FAKE_CUDA_MEMORY": "300"},
        expect=PASSED,
    )
    assert len(run.verdicts) == len(tasks)
    problems = {verdict["id"]: verdict["problem"]["id"] for verdict in run.verdicts}
    taken = {name: [] for name in pairs}
    for job, slots in re.findall(r'job=(\w+) msg="GPU 0: (\d) of 4 slots', run.err):
        taken[problems[job]].append(int(slots))
    assert taken == {"small": [1] * times, "large": [3] * times}, taken
