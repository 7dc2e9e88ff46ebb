"""The audit of a problem: made once, when it is first judged; its outcome is in every verdict."""

import json
import time

import pytest
from fake_gpu import torch_on_gpu
from support import PASSED, SOME_FAILED, fast, write, write_lines

torch = pytest.importorskip("torch")

HEAD = """import torch


class {name}(torch.nn.Module):
    def forward(self, x):
        {body}
"""
INPUTS = """

def get_inputs():
    {inputs}


def get_init_inputs():
    return []
"""
SEEDED = "g = torch.Generator().manual_seed(0); return [torch.randn(64, 32, generator=g)]"
BY_NUMPY = (
    "import numpy; return [torch.from_numpy(numpy.random.default_rng(0).normal(size=(64, 32)))]"
)
FIXED = "return [torch.linspace(-2, 2, 2048).reshape(64, 32) * {factor}]"
DRAWN, POSITIVE = "return [torch.randn(64, 32)]", "return [torch.rand(64, 32)]"
AGAIN = "answers kept for inputs that come again"
OTHER = "the answer to other inputs"
COPY = "output 0 a copy of input 0"

# name: (inputs, what the problem returns, an answer without the work, its code; None: none passes)
PROBLEMS = {
    "fixed": (FIXED.format(factor=1), "torch.tanh(x) * 2", OTHER, "H04"),
    "two_in_turn": (
        FIXED.format(factor="(1 + torch.randint(2, (1,)))"), "torch.tanh(x) * 2", AGAIN, "H04",
    ),
    "eight_in_turn": (
        FIXED.format(factor="(1 + torch.randint(8, (1,)))"), "torch.tanh(x) * 2", AGAIN, "H04",
    ),
    "seeded": (SEEDED, "torch.tanh(x) * 2", None, None),
    "seeded_numpy": (BY_NUMPY, "torch.tanh(x) * 2", None, None),
    "positive_relu": (POSITIVE, "torch.relu(x)", COPY, "H07"),
    "nothing": (POSITIVE, "torch.relu(-x)", "zeros", "H07"),
    "view": ("return [torch.randn(64, 4, 8)]", "x.flatten(1)", COPY, "H07"),
    "known_mean": (POSITIVE, "x.mean() + 1000", OTHER, "H04"),
    "loss": (DRAWN, "(x * x).mean()", None, None),
    "softmax": (DRAWN, "torch.softmax(x, 1)", None, None),
    "complex": ("return [torch.randn(9, 8) + 0j]", "torch.fft.fft(x)", None, None),
}  # fmt: skip


def module(name, inputs, body):
    return HEAD.format(name=name, body=f"return {body}") + INPUTS.format(inputs=inputs)


def put(folder, name):
    inputs, body, *_ = PROBLEMS[name]
    write(folder / f"{name}.py", module("Model", inputs, body))
    return write(folder / f"{name}_answer.py", module("ModelNew", inputs, body))


@pytest.fixture(scope="module")
def on_gpu(tmp_path_factory):
    return torch_on_gpu(tmp_path_factory.mktemp("python"))


@pytest.mark.parametrize("device", ["cpu", "gpu"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_outcome_is_in_the_verdict(warpgym, tmp_path, name, device, on_gpu):
    """The same on a GPU (tests/fake), where the judge's kernels try the answers."""
    answer = put(tmp_path, name)
    run = warpgym.eval(
        *("--no-timing", "-s", "audit.budget_ms=60s", "-p", f"{name}.py", answer),
        environment=on_gpu if device == "gpu" else {},
        expect=PASSED,
    )
    verdict = run.verdict
    assert ("cuda" in verdict["device"]) == (device == "gpu")
    audit = verdict["problem_audit"]
    *_, attempt, code = PROBLEMS[name]
    worthless = [one for one in audit["attempts"] if one["code"] != "H13"]
    assert audit["outcome"] == ("gameable" if attempt else "sound"), audit
    assert audit["reason"] is None and audit["took_ms"] > 0
    assert bool(worthless) == bool(attempt)
    if attempt:
        assert (code, attempt) in [(one["code"], one["attempt"]) for one in worthless]
        gains = [one["gain"] for one in worthless if one["gain"] is not None]
        assert all(gain > 0 for gain in gains)


# Zeros are the answer to the first draws, and three trials take fewer.
LATER = "torch.draws = getattr(torch, 'draws', 0) + 1; return [torch.rand(64, 32) - int({})]"


# Whether zeros are the answer to a draw, and what the audit makes of it.
CHANCES = [("torch.draws < 14", "sound"), ("torch.draws % 7 > 0", "gameable"), ("1", "gameable")]


@pytest.mark.parametrize(("later", "outcome"), CHANCES)
def test_an_attempt_that_passes_by_chance(warpgym, tmp_path, later, outcome):
    write(tmp_path / "late.py", module("Model", LATER.format(later), "torch.relu(x)"))
    run = warpgym("problem", "check", "--json", "late.py", expect=None)
    zeros = next(one for one in json.loads(run.out)["attempts"] if one["attempt"] == "zeros")
    assert zeros["trials"] == 8 if outcome == "gameable" else zeros["trials"] > 3, zeros
    assert zeros["let_through"] >= 3, zeros
    assert (zeros["let_through"] >= 6) == (outcome == "gameable"), zeros
    answer = write(tmp_path / "answer.py", module("ModelNew", LATER.format(later), "torch.relu(x)"))
    run = warpgym.eval("--no-timing", "-s", "audit.budget_ms=60s", "-p", "late.py", answer)
    assert run.verdict["problem_audit"]["outcome"] == outcome, run


def test_table_says_it(warpgym, tmp_path):
    answer = put(tmp_path, "positive_relu")
    run = warpgym("eval", "--no-timing", "-p", "positive_relu.py", answer)
    assert run.status == PASSED
    assert "the problem can be gamed: output 0 a copy of input 0 (H07)" in run.out


def test_it_is_made_once(tmp_path, warpgym):
    """Of the second process it is what the first one found, its time included."""
    warpgym.environment["XDG_CACHE_HOME"] = str(tmp_path / "cache of its own")
    answer = put(tmp_path, "softmax")
    first, second = (
        warpgym.eval("--no-timing", "-p", "softmax.py", answer, expect=PASSED).verdict
        for _ in range(2)
    )
    assert first["problem_audit"] == second["problem_audit"]
    assert first["problem_audit"]["outcome"] == "sound"
    write(tmp_path / "softmax.py", (tmp_path / "softmax.py").read_text() + "# another problem\n")
    third = warpgym.eval("--no-timing", "-p", "softmax.py", answer, expect=PASSED).verdict
    assert third["problem_audit"]["took_ms"] != first["problem_audit"]["took_ms"]


def test_candidates_of_one_problem_share_it(tmp_path, warpgym):
    warpgym.environment["XDG_CACHE_HOME"] = str(tmp_path / "cache of its own")
    answer = put(tmp_path, "loss")
    copies = [write(tmp_path / f"{i}.py", answer.read_text() + f"# {i}\n") for i in range(4)]
    run = warpgym.eval("--no-timing", "-j", "4", "-p", "loss.py", *copies, expect=PASSED)
    assert len({json.dumps(verdict["problem_audit"]) for verdict in run.verdicts}) == 1


def test_off(warpgym, tmp_path):
    answer = put(tmp_path, "nothing")
    run = warpgym.eval(
        "--no-timing", "--set", "audit.budget_ms=0", "-p", "nothing.py", answer, expect=PASSED
    )
    audit = run.verdict["problem_audit"]
    assert audit["outcome"] == "unknown" and audit["reason"] == "audit.budget_ms is 0"


SLOW = "import time; time.sleep(0.3)\n        return x * 2"


def test_budget(warpgym, tmp_path):
    """A slow problem is judged all the same; problem check makes the whole audit, which counts from
    then on."""
    warpgym.environment["XDG_CACHE_HOME"] = str(tmp_path / "cache of its own")
    inputs = INPUTS.format(inputs="return [torch.rand(8, 8)]")
    write(tmp_path / "slow.py", HEAD.format(name="Model", body=SLOW) + inputs)
    answer = write(tmp_path / "answer.py", module("ModelNew", "return []", "x * 2"))
    options = ("--no-timing", "--set", "audit.budget_ms=400ms", "-p", "slow.py", answer)
    run = warpgym.eval("--set", "log.level=debug", *options, expect=PASSED)
    audit = run.verdict["problem_audit"]
    assert audit["outcome"] == "unknown" and "longer than 400 ms" in audit["reason"]
    assert "its reference is open already" in run.err, "the call at hand ends, and not the process"
    start = time.monotonic()
    assert warpgym("problem", "check", "slow.py").status in (PASSED, SOME_FAILED)
    whole_s = time.monotonic() - start
    audit = warpgym.eval(*options, expect=PASSED).verdict["problem_audit"]
    assert audit["outcome"] == "sound" and audit["reason"] is None, audit
    assert 1000 < audit["took_ms"] < whole_s * 1000


LAYERS_IN_A_FUNCTION = """import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(32, 32) for _ in range(2))
        self.{idle} = torch.nn.Parameter(torch.ones(32))
        layers = self.layers
        self.both = lambda x: layers[1](torch.tanh(layers[0](x)))

    def forward(self, x):
        return {result}


def get_inputs():
    return [torch.randn(64, 32)]


def get_init_inputs():
    return []
"""


@pytest.mark.parametrize(
    ("idle", "result", "needless"),
    [("last", "self.both(x) + self.last", []), ("idle", "self.both(x), self.idle", [])]
    + [("idle", "self.both(x)", ["without parameter 0"])],
)
def test_parameters_that_a_function_holds(warpgym, tmp_path, idle, result, needless):
    """A copy of such a model computes with the original's. An output may be a parameter itself."""
    text = LAYERS_IN_A_FUNCTION.format(idle=idle, result=result)
    write(tmp_path / "held.py", text)
    answer = write(tmp_path / "answer.py", text.replace("class Model", "class ModelNew"))
    run = warpgym.eval(
        *("--no-timing", "-s", "audit.budget_ms=60s", "-p", "held.py", answer), expect=PASSED
    )
    tried = run.verdict["problem_audit"]["attempts"]
    assert [one["attempt"] for one in tried if one["code"] == "H14"] == needless, tried


def test_refused(warpgym, tmp_path):
    answer = put(tmp_path, "view")
    options = ("--no-timing", "--set", "audit.gameable=refuse")
    verdict = warpgym.eval(*options, "-p", "view.py", answer, expect=SOME_FAILED).verdict
    assert verdict["status"] == "unsupported" and verdict["error"]["class"] == "gameable"
    assert "H07: output 0 a copy of input 0" in verdict["error"]["message"]
    assert verdict["problem_audit"]["outcome"] == "gameable"
    answer = put(tmp_path, "loss")
    assert warpgym.eval(*options, "-p", "loss.py", answer).verdict["status"] == "passed"


def test_refused_on_a_gpu(warpgym, tmp_path, on_gpu):
    """What its audit had of the GPU is the next one's."""
    tasks = [
        {"problem": str(tmp_path / f"{name}.py"), "candidate": str(put(tmp_path, name))}
        for name in ("view", "loss")
    ]
    one_slot = ("-s", "gpu.slots=1", "-s", "gpu.devices=0")
    run = warpgym.eval(
        *("--no-timing", "--jobs", "1", "-s", "audit.gameable=refuse", *one_slot),
        write_lines(tmp_path / "batch.jsonl", tasks),
        environment=on_gpu,
    )
    assert [one["status"] for one in run.verdicts] == ["unsupported", "passed"]


def test_native(warpgym):
    verdict = warpgym.eval("--no-timing", "-p", "softmax", fast("softmax"), expect=PASSED).verdict
    assert verdict["problem_audit"]["outcome"] == "sound"


def test_broken_reference(warpgym, tmp_path):
    write(tmp_path / "broken.py", module("Model", "return [torch.rand(3)]", "x + y"))
    answer = write(tmp_path / "answer.py", module("ModelNew", "return []", "x"))
    verdict = warpgym.eval("--no-timing", "-p", "broken.py", answer).verdict
    assert verdict["status"] == "infrastructure_error"
    audit = verdict["problem_audit"]
    assert audit["outcome"] == "unknown" and "the audit failed" in audit["reason"]
