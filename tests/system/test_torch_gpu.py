"""PyTorch on a GPU, judged without one: tests/fake/torch_gpu.py puts tensors into the memory of the
stand-in driver, and the judge's own kernels run there as host code. The rest is the real thing."""

import json
import re
import subprocess

import pytest
from fake_gpu import check, torch_on_gpu
from support import (
    INFRASTRUCTURE,
    PASSED,
    PYTHON,
    SOME_FAILED,
    kernelbench_module,
    write,
    write_lines,
)

QUICK = [
    "-s",
    "timing.min_samples=4",
    "-s",
    "timing.max_samples=6",
    "-s",
    "timing.budget_ms=50",
]

# Nor an audit of another test's: one of its own, with time for it on a busy machine.
NO_CACHE = ["-s", "cache.max_bytes=0", "-s", "audit.budget_ms=60s"]

CANDIDATE = """import torch
import torch.nn as nn

calls = 0


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(width))

    def forward(self, x):
        global calls
        calls += 1
        y = torch.addcmul(self.weight, x, x)
        %s
        return y
"""


CASES = """

def get_init_inputs():
    return [64]

def get_cases():
    x = torch.randn(32, 64)
    return [{"inputs": [x], "outputs": x * x}, {"inputs": [x[:5]], "outputs": x[:5] * x[:5]}]
"""


def candidate(line="pass"):
    return CANDIDATE % line


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    return torch_on_gpu(tmp_path_factory.mktemp("python"))


@pytest.fixture
def problem(tmp_path):
    return write(tmp_path / "square.py", kernelbench_module())


def judged(
    warpgym, environment, problem, text, *arguments, timed=False, name="candidate.py"
):
    path = write(problem.parent / name, text)
    what = QUICK if timed else ["--no-timing"]
    run = warpgym(
        "eval", "--json", "--quiet", "--problem", problem, *what, *arguments, path,
        environment=environment,
    )  # fmt: skip
    assert run.status in (PASSED, SOME_FAILED, INFRASTRUCTURE), run
    return run.verdict


def test_simple(warpgym, environment, tmp_path):
    """Cases are made by one process, and answered with by another."""
    lines = [candidate(), candidate("y = y + 1"), candidate("y = y + (len(x) == 5)")]
    batch = write_lines(
        tmp_path / "batch.jsonl",
        [
            {"problem": {"format": "simple"}, "candidate": {"source": text + CASES}}
            for text in lines
        ],
    )
    run = warpgym("eval", "--json", "--quiet", *QUICK, batch, environment=environment)
    assert [verdict["status"] for verdict in run.verdicts] == [
        "passed",
        "wrong",
        "wrong",
    ], run
    assert [verdict["cases"]["failed"] for verdict in run.verdicts] == [
        [],
        ["case_0"],
        ["case_1"],
    ]
    timing = run.verdicts[0]["timing"]
    assert run.verdicts[0]["device"] == "cuda:0 Fake GPU 0"
    assert timing["candidate"]["median"] > 0 and timing["speedup"] is None


def test_cases_that_claim_more_than_they_may(warpgym, environment, tmp_path):
    """Pages that hold nothing cost the process that makes them nothing; the judge would copy."""
    text = candidate() + CASES.replace(
        "torch.randn(32, 64)", "torch.zeros(1 << 22, 64)"
    )
    line = {"problem": {"format": "simple"}, "candidate": {"source": text}}
    run = warpgym(
        "eval", "--json", "--quiet", "--no-timing", "-s", "run.memory_bytes=64MiB",
        write_lines(tmp_path / "batch.jsonl", [line]), environment=environment,
    )  # fmt: skip
    check(run.verdict, "out_of_memory", "values of")


def test_printed(warpgym, environment, problem):
    text = "print('loaded')\n" + candidate("print(tuple(x.shape), flush=True)")
    verdict = judged(warpgym, environment, problem, text)
    check(verdict, "passed")
    lines = verdict["output"]["text"].splitlines()
    assert lines[0] == "loaded" and len(lines) > 1 and set(lines[1:]) == {lines[1]}


def test_right(warpgym, environment, problem):
    verdict = judged(warpgym, environment, problem, candidate(), timed=True)
    assert verdict["status"] == "passed", verdict
    assert verdict["device"] == "cuda:0 Fake GPU 0"
    assert verdict["correctness"]["passed"] == verdict["correctness"]["trials"] > 3
    assert verdict["timing"]["speedup"] > 0


def test_calls_of_a_faster_candidate(warpgym, environment, problem):
    """An interval holds as many as the faster of the two wants: the dispatch overhead of a few
    would be more than all of a fast one's calls. On a busy machine a fast one may look slow, so
    that it is one of three judgements that shows it."""
    slow = "    def forward(self, x):\n        import time; time.sleep(0.003)"
    text = kernelbench_module().replace("    def forward(self, x):", slow)
    reference = write(problem.parent / "slow.py", text)

    def calls(answer):
        run = warpgym(
            *("eval", "--json", "-s", "log.level=debug", "-s", "audit.budget_ms=0"),
            *("--problem", reference, write(problem.parent / "answer.py", answer)),
            environment=environment,
            expect=PASSED,
        )
        return int(re.findall(r'msg="(\d+) calls, inputs', run.err)[-1])

    assert calls(text.replace("Model", "ModelNew")) == 2
    fast = kernelbench_module().replace("Model", "ModelNew")
    assert any(calls(fast) > 2 for _ in range(3))


# Each takes a few GiB of this machine's memory, and no more than that if no limit stops it.
HOARDS = [
    ("at once", "self.hoard = [torch.ones(1 << 22) for _ in range(250)]"),
    (
        "call by call",
        "self.__dict__.setdefault('hoard', []).append(torch.ones(1 << 26))",
    ),
    (
        "beside",
        "import threading; threading.Thread(target=lambda: self.__dict__.setdefault("
        "'hoard', []).append(torch.ones(1 << 29)), daemon=True).start()",
    ),
]


@pytest.mark.parametrize("row", HOARDS, ids=lambda row: row[0])
def test_memory_of_this_machine(warpgym, environment, problem, row):
    verdict = judged(
        warpgym, environment, problem, candidate(row[1]), "-s", "run.memory_bytes=64MiB",
        timed=True,
    )  # fmt: skip
    check(verdict, "out_of_memory", "the setting run.memory_bytes")


BUILDS = """import threading
import time

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

gaps = []


def watch():
    last = time.monotonic()
    while not gaps or gaps[-1] is not None:
        time.sleep(0.001)
        now = time.monotonic()
        gaps.append(now - last)
        last = now


threading.Thread(target=watch, daemon=True).start()
begun = time.monotonic()
load_inline("nothing", "int nothing() { return 1; }", functions=["nothing"])
took = time.monotonic() - begun
time.sleep(0.01)
assert max(gaps) > took / 3, "it ran on while its extension was built"
gaps.append(None)


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(width))

    def forward(self, x):
        return torch.addcmul(self.weight, x, x)
"""


def test_candidate_is_frozen_while_the_judge_builds(warpgym, environment, problem):
    """Its time would not be measured meanwhile."""
    check(judged(warpgym, environment, problem, BUILDS), "passed")


def test_no_process_stands_ready(warpgym, environment, problem):
    check(
        judged(warpgym, environment, problem, candidate(), "-s", "gpu.processes=0"),
        "passed",
    )


# What the candidate does with its right answer, and what it gets for it.
CHECKED = [
    ("right", "pass", "passed", None, ""),
    (
        "off",
        "y[3, 5] += 1",
        "wrong",
        None,
        "1 of 527 elements are wrong; the first, [56]",
    ),
    ("exits", "import os; os._exit(3)", "runtime_error", None, "exited with status 3"),
    ("right again", "pass", "passed", None, ""),
    (
        "nan",
        "y[0, 1] = float('nan')",
        "wrong",
        None,
        "the first, [1], is NaN instead of",
    ),
    ("shape", "y = y.flatten()", "wrong", None, "float32[527], the reference's is"),
    ("type", "y = y.double()", "wrong", None, "float64[31, 17], the reference's is"),
    ("more", "y = (y, y)", "wrong", None, "it returned 2 tensors"),
    ("none", "y = None", "wrong", None, "it returned 0 tensors"),
    ("empty", "y = y[:0]", "wrong", None, "float32[0, 17], the reference's is"),
    ("raises", "raise ValueError('no')", "runtime_error", None, "ValueError: no"),
    (
        "nowhere",
        "y.lies_at = 'the host'",
        "violation",
        "H50",
        "memory that it has not announced",
    ),
    ("meta", "y = y.to('meta')", "runtime_error", None, "meta tensor"),
    ("strided", "y = torch.stack([y, y], -1)[..., 1]", "passed", None, ""),
]

# Right for as long as it is only checked, on some of a clock interval's calls, or once.
TIMED = [
    ("late", "y = y + (calls > 14)", "wrong", None, "elements are wrong"),
    (
        "seldom",
        "y = y if calls % 7 else torch.zeros_like(y)",
        "wrong",
        None,
        "are wrong",
    ),
    (
        "kept",
        "self.kept = y if calls < 14 else self.kept; y = self.kept",
        "wrong",
        None,
        "wrong",
    ),
    (
        "gone",
        "calls > 14 and setattr(y, 'lies_at', 'the host')",
        "violation",
        "H50",
        "memory that it has not announced",
    ),
    ("right", "pass", "passed", None, ""),
    ("launches", "torch.launched.append(5)", "passed", None, ""),
    # Biased inputs are not among those of the interval that is traced.
    (
        "sees",
        "torch.launched.append(9e3 if x.unique().numel() < 3 else 5)",
        "passed",
        None,
        "",
    ),
    (
        "launches once",  # for all calls that the clock's interval took
        "torch.launched or torch.launched.append(5)",
        "violation",
        "H06",
        "calls were answered by 1 launches",
    ),
]


def judged_at_once(warpgym, environment, folder, rows, *arguments):
    """Their verdicts by name: one run with more candidates than processes stand ready for."""
    problem = write(folder / "square.py", kernelbench_module())
    paths = [write(folder / f"{name}.py", candidate(line)) for name, line, *_ in rows]
    run = warpgym(
        "eval", "--json", "--quiet", "--problem", problem, *arguments, *paths,
        environment=environment,
    )  # fmt: skip
    assert len(run.verdicts) == len(rows), run
    return {row[0]: verdict for row, verdict in zip(rows, run.verdicts, strict=True)}


@pytest.fixture(scope="module")
def checked(module_warpgym, environment, tmp_path_factory):
    folder = tmp_path_factory.mktemp("checked")
    return judged_at_once(module_warpgym, environment, folder, CHECKED, "--no-timing")


@pytest.fixture(scope="module")
def timed(module_warpgym, environment, tmp_path_factory):
    folder = tmp_path_factory.mktemp("timed")
    return judged_at_once(module_warpgym, environment, folder, TIMED, *QUICK)


@pytest.mark.parametrize("row", CHECKED, ids=lambda row: row[0])
def test_checked(checked, row):
    name, _, status, code, words = row
    check(checked[name], status, words, code)


@pytest.mark.parametrize("row", TIMED, ids=lambda row: row[0])
def test_timed(timed, row):
    name, _, status, code, words = row
    check(timed[name], status, words, code)
    assert timed[name]["stages_ms"]["time"] > 0


def test_precision(warpgym, environment, problem):
    """The oracle stays at double precision, and its answer where the judge compares."""
    line = "assert x.dtype == y.dtype == torch.bfloat16"
    verdict = judged(
        warpgym,
        environment,
        problem,
        candidate(line),
        "-s",
        "torch.precision=bf16",
        timed=True,
    )
    assert verdict["status"] == "passed", verdict


CONVOLUTION = """import torch
from torch import nn


def tf32(x):
    return ((x.view(torch.int32) + 0x1000) & ~0x1FFF).view(torch.float32)


def bf16(x):
    return x.bfloat16().float()


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(8, 16, 3)
        self.back = nn.ConvTranspose2d(16, 4, 3)

    def forward(self, x):
        _, offset = self.conv.parameters()
        x = nn.functional.conv2d({rounded}(x), {rounded}(self.conv.weight), offset)
        return self.back(x.relu())


def get_inputs():
    return [torch.rand(4, 8, 80, 80)]


def get_init_inputs():
    return []
"""
PLAIN_END = "        return self.back(x.relu())\n"
CHAOTIC = """        x = self.back(x.relu()).sigmoid()
        for _ in range(60):
            x = 3.9 * x * (1 - x)
        return x
"""
# On inputs of no mean almost nothing is left of the errors of weights, on others they add up.
AVERAGED = """        return x.mean(dim=(2, 3))
"""
# PyTorch's default lets cuDNN convolve in TF32; no other precision, and not on a CPU. Where that
# grows to the size of the output, no answer but the reference's own is right.
CONVOLVED = {
    "TF32": ("tf32", "", "cuda", "passed"),
    "bfloat16": ("bf16", "", "cuda", "wrong"),
    "TF32, averaged": ("tf32", AVERAGED, "cuda", "passed"),
    "TF32 on a CPU": ("tf32", "", "cpu", "wrong"),
    "itself, chaotic": ("", CHAOTIC, "cuda", "passed"),
    "TF32, chaotic": ("tf32", CHAOTIC, "cuda", "wrong"),
}


@pytest.mark.parametrize("row", CONVOLVED)
def test_tf32_of_convolutions(warpgym, environment, tmp_path, row):
    rounded, end, device, status = CONVOLVED[row]
    text = CONVOLUTION.replace(PLAIN_END, end or PLAIN_END)
    text = text.replace("torch.rand(", "torch.randn(")
    problem = write(tmp_path / "conv.py", text.format(rounded=""))
    answer = text.format(rounded=rounded).replace("Model", "ModelNew")
    there = environment | {"WARPGYM_TORCH_DEVICE": device}
    if device == "cpu":
        there["WARPGYM_PYTHON"] = str(PYTHON)
    verdict = judged(warpgym, there, problem, answer, *NO_CACHE, "-s", "audit.budget_ms=0")
    assert verdict["status"] == status, verdict


# What is wrong, and the reason that the verdict has.
NO_KERNELS = [
    ({"FAKE_CUDA_FAIL": "cuModuleLoadData"}, "own kernels: cannot load the judge's"),
    (
        {"FAKE_CUDA_FAIL": "cuModuleLoadData", "FAKE_CUDA_ERROR": "2"},
        "(CUDA_ERROR_FAKE, 2)",
    ),
    ({"WARPGYM_NVCC": "/nowhere/nvcc"}, "own kernels: there is no CUDA compiler: install"),
    ({"WARPGYM_NVCC": "/bin/false"}, "false: does not work here: it fails on a trivial file"),
]


@pytest.mark.parametrize("row", NO_KERNELS, ids=lambda row: row[1])
def test_without_the_judges_kernels(warpgym, environment, problem, row):
    verdict = judged(warpgym, environment | row[0], problem, candidate(), *NO_CACHE)
    check(verdict, "infrastructure_error", row[1])
    audit = verdict["problem_audit"]
    assert audit["outcome"] == "unknown" and row[1] in audit["reason"], audit


def test_the_judges_kernels_lack_memory_once(warpgym, environment, problem):
    """A moment later it is there: judged once more, alone."""
    once = {"FAKE_CUDA_ERROR": "2", "FAKE_CUDA_FAIL_TIMES": "2"}  # it looks twice
    once["FAKE_CUDA_FAIL"] = "cuModuleLoadData"
    limits = [*NO_CACHE, "-s", "audit.budget_ms=0"]
    check(judged(warpgym, environment | once, problem, candidate(), *limits), "passed")


def test_the_judges_kernels_come_before_a_candidate(warpgym, environment, problem):
    """One that takes all memory when it is loaded leaves some for them."""
    broken = {"FAKE_CUDA_FAIL": "cuModuleLoadData"}
    text = "print('the candidate is loaded')\n" + candidate()
    for more, loaded in ({}, True), (broken, False):
        verdict = judged(warpgym, environment | more, problem, text, *NO_CACHE)
        assert ("is loaded" in str(verdict.get("output"))) == loaded, verdict


def test_audit_opens_the_reference_for_all(warpgym, environment, problem):
    """The first candidate's evaluation goes on with it, in its slots of the GPU."""
    answer = write(problem.parent / "candidate.py", candidate())
    run = warpgym(
        *("eval", "--json", "--no-timing", "-s", "log.level=debug", *NO_CACHE),
        *("--problem", problem, answer),
        environment=environment,
        expect=PASSED,
    )
    assert run.verdict["problem_audit"]["outcome"] == "sound", run
    assert len(re.findall(r"GPU 0: \d of \d slots", run.err)) == 1, run.err


def test_an_audit_lets_others_be_timed(warpgym, environment, problem):
    """Between two calls of its reference, each of which takes 0.3 s."""
    slow = "    def forward(self, x):\n        import time; time.sleep(0.3)"
    text = kernelbench_module().replace("    def forward(self, x):", slow)
    long = write(problem.parent / "slow.py", text)
    answer = write(problem.parent / "candidate.py", candidate())
    limits = ["--no-timing", "-s", "check.trials=1", *NO_CACHE]
    audited = warpgym.start(
        *("eval", "--json", *limits, "-s", "log.level=debug", "--problem", long, answer),
        environment=environment,
    )
    beside = judged(
        warpgym, environment, problem, candidate(), "-s", "audit.budget_ms=0", timed=True
    )
    out, log = (text.decode() for text in audited.communicate())
    assert beside["status"] == "passed", beside
    assert json.loads(out)["problem_audit"]["outcome"] == "sound", out
    # The audit, its evaluation, and some turns of the audit.
    assert len(re.findall(r"GPU 0 held for \d+ ms, shared", log)) > 4, log


@pytest.mark.parametrize("made", [4, 5, 6, 7])
@pytest.mark.parametrize("times", [1, 2])
def test_audit_finds_no_memory(warpgym, environment, problem, made, times):
    """Whichever piece of the GPU's memory the judge cannot make: the audit is made again, alone,
    and where that fails, too, only the audit is without. Its evaluation holds nothing then: there
    is one GPU."""
    broken = {
        "FAKE_CUDA_FAIL": "cuMemCreate",
        "FAKE_CUDA_ERROR": "2",
        "FAKE_CUDA_FAIL_AFTER": str(made),
        "FAKE_CUDA_FAIL_TIMES": str(times),
    }
    verdict = judged(warpgym, environment | broken, problem, candidate(), *NO_CACHE)
    assert verdict["status"] == "passed", verdict
    audit = verdict["problem_audit"]
    if times == 1:
        assert audit["outcome"] == "sound", audit
    else:
        assert "too little GPU memory for the audit" in audit["reason"], audit


def test_a_limit_for_candidates(warpgym, environment, problem):
    """The judge's own kernels take more than that, and may."""
    limits = ["-s", "compile.timeout_ms=1ms", "-s", "cache.max_bytes=0"]
    check(judged(warpgym, environment, problem, candidate(), *limits), "passed")


# --- where there is no GPU, or no PyTorch for one ------------------------------------------------


def test_pytorch_without_cuda(warpgym, environment, problem):
    """One sentence says what is missing; no candidate is to blame. Some registries have PyTorch
    with CUDA for a machine without a GPU: then it is PyTorch that says so."""
    plain = environment | {"WARPGYM_PYTHON": str(PYTHON)}
    verdict = judged(warpgym, plain, problem, candidate())
    check(verdict, "infrastructure_error")
    ask = "import torch; print(torch.version.cuda or '')"
    probe = subprocess.run(
        [PYTHON, "-c", ask], capture_output=True, text=True, check=True
    )
    says = "is built without CUDA: install a build with it, or set torch.device=cpu"
    if probe.stdout.strip():
        says = "Found no NVIDIA driver"
    assert says in verdict["error"]["message"], verdict
    assert "\n" not in verdict["error"]["message"]


def test_no_driver(warpgym, environment, problem):
    none = environment | {"WARPGYM_GPU_DRIVER": "/nowhere/libcuda.so.1"}
    verdict = judged(warpgym, none, problem, candidate())
    check(verdict, "unsupported", "/nowhere/libcuda.so.1")
    automatic = none | {"WARPGYM_TORCH_DEVICE": "auto", "WARPGYM_PYTHON": str(PYTHON)}
    verdict = judged(warpgym, automatic, problem, candidate())
    assert verdict["status"] == "passed", verdict
    assert not verdict["device"].startswith("cuda")


@pytest.mark.parametrize(
    "setting", ["torch.device=tpu", "torch.precision=fp64", "torch.compile=fast"]
)
def test_settings_refused(warpgym, problem, setting):
    run = warpgym("eval", "--json", "--problem", problem, "-s", setting, problem)
    name, value = setting.split("=")
    assert name in run.complaint and value in run.complaint, run


@pytest.mark.parametrize("precision", ["fp16", "bf16"])
def test_precision_on_the_cpu(warpgym, problem, precision):
    kind = {"fp16": "float16", "bf16": "bfloat16"}[precision]
    text = candidate(f"assert x.dtype == self.weight.dtype == y.dtype == torch.{kind}")
    plain = {"WARPGYM_TORCH_DEVICE": "cpu", "WARPGYM_TORCH_PRECISION": precision}
    check(judged(warpgym, plain, problem, text), "passed")


def test_out_of_memory_on_a_shared_gpu(warpgym, environment, tmp_path):
    """A candidate that finds no memory on a shared GPU is judged again, exclusively."""
    problem = write(tmp_path / "square.py", kernelbench_module())
    greedy = candidate("raise torch.OutOfMemoryError('no room')")
    write(tmp_path / "greedy.py", greedy)
    names = ["greedy.py"] + [f"right_{i}.py" for i in range(4)]
    for name in names[1:]:
        write(tmp_path / name, candidate())
    run = warpgym(
        "eval", "--json", "--quiet", "--jobs", "3", "--no-timing", "--problem", problem,
        *[tmp_path / name for name in names], environment=environment,
    )  # fmt: skip
    statuses = {
        v["candidate"]["path"].rsplit("/", 1)[1]: v["status"] for v in run.verdicts
    }
    assert statuses == {name: "passed" for name in names[1:]} | {
        "greedy.py": "out_of_memory"
    }


POSITIONS = """import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return tuple(part.argmin(1) for part in x)


def get_inputs():
    return [torch.randint(4, (12, 8, 16)).float()]


def get_init_inputs():
    return []
"""


def test_many_timed_calls_whose_answers_are_positions(warpgym, environment, tmp_path):
    """Ties are looked at in all calls of an interval together, and take two tensors an output."""
    problem = write(tmp_path / "positions.py", POSITIONS)
    text = POSITIONS.replace("Model", "ModelNew")
    rows = {"15 - part.flip(1).argmin(1)": "passed", "part.argmax(1)": "wrong"}
    for argmin, status in rows.items():
        answer = text.replace("part.argmin(1)", argmin)
        verdict = judged(warpgym, environment, problem, answer, timed=True)
        assert verdict["status"] == status, verdict["error"]


# In nine of ten draws no product is above the threshold `c`, else one of them.
CUT = """import torch


class Model(torch.nn.Module):
    def forward(self, a, b, c):
        return torch.relu((a @ b.T - c) * 1.5)


def get_inputs():
    a, b = torch.randn(2048, 10), torch.randn(5, 10)
    return [a, b, (a @ b.T).max() + 1e-2 * (torch.rand(()) - 0.1)]


def get_init_inputs():
    return []
"""
REORDERED = "sum(a[:, i : i + 1] * b.T[i] for i in range(10))"


def test_timed_calls_that_leave_one_element(warpgym, environment, tmp_path):
    """The reference says what rounding does to it on the inputs of these calls."""
    problem = write(tmp_path / "cut.py", CUT)
    text = CUT.replace("Model", "ModelNew").replace("a @ b.T - c", f"{REORDERED} - c")
    more = text.replace("return torch.relu", "y = torch.relu", 1)
    more = more.replace("* 1.5)", "* 1.5)\n        return y + 2e-4 * (y > 0)", 1)
    for answer, status in ((text, "passed"), (more, "wrong")):
        verdict = judged(warpgym, environment, problem, answer, "-s", "check.trials=1", timed=True)
        assert verdict["status"] == status, verdict["error"]
