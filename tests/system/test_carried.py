"""Models that carry a state from call to call: reference, oracle and candidate begin each with the
constructor's, however often the judge calls them."""

import pytest
from fake_gpu import torch_on_gpu
from support import PASSED, SOME_FAILED, write

torch = pytest.importorskip("torch")

from warpgym.carried import Carried  # noqa: E402

PROBLEM = """import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        STATE
        self.inner = torch.nn.Linear(24, 8)

    def forward(self, x):
        hidden = torch.tanh(self.inner(torch.cat((x, self.hidden.to(x.device)), dim=1)))
        MOVE
        return hidden * 2


def get_inputs():
    return [torch.randn(4, 16)]


def get_init_inputs():
    return []
"""
ROWS = {
    "another tensor": ("self.hidden = torch.randn(4, 8)", "self.hidden = hidden"),
    "in place": ("self.hidden = torch.randn(4, 8)", "self.hidden.copy_(hidden)"),
    "a buffer": ("self.register_buffer('hidden', torch.randn(4, 8))", "self.hidden = hidden"),
}


@pytest.mark.parametrize("row", ROWS)
def test_judged(warpgym, tmp_path, row):
    state, move = ROWS[row]
    text = PROBLEM.replace("STATE", state).replace("MOVE", move)
    problem = write(tmp_path / "problem.py", text)
    answers = [text.replace("Model", "ModelNew")]
    answers.append(answers[0].replace("torch.tanh(", "torch.tanh(1.01 * "))
    paths = [write(tmp_path / f"{at}.py", answer) for at, answer in enumerate(answers)]
    run = warpgym("eval", "--json", "--quiet", "--problem", problem, *paths, expect=SOME_FAILED)
    assert [verdict["status"] for verdict in run.verdicts] == ["passed", "wrong"], run
    assert run.verdicts[0]["problem_audit"]["outcome"] == "sound", run.verdicts[0]


def test_judged_in_intervals_of_many_calls(warpgym, tmp_path):
    """A GPU's: within one, the state moves on."""
    state, move = ROWS["another tensor"]
    text = PROBLEM.replace("STATE", state).replace("MOVE", move)
    problem = write(tmp_path / "problem.py", text)
    answer = write(tmp_path / "answer.py", text.replace("Model", "ModelNew"))
    quick = ["-s", "timing.max_samples=6", "-s", "audit.budget_ms=0"]
    warpgym(
        *("eval", "--json", "--quiet", "--problem", problem, *quick, answer),
        environment=torch_on_gpu(tmp_path),
        expect=PASSED,
    )


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.constant, self.hidden = torch.ones(2), torch.zeros(2)
        self.norm = torch.nn.BatchNorm1d(2)
        self.scratch = torch.full((2,), torch.nan)
        self.mask, self.sparse = torch.ones(2, dtype=torch.bool), torch.eye(2).to_sparse()
        self.register_buffer("none", None)

    def forward(self, x):
        self.hidden = self.hidden.double() + 1
        self.scratch.copy_(x[0])
        return self.norm(x) + self.hidden * self.constant


def test_what_a_call_moves():
    model, carried = Model(), Carried()
    norm = model.norm.running_mean.clone()
    assert carried.find(model, lambda: model(torch.randn(4, 2))) == [".hidden", ".scratch"]
    assert model.hidden.equal(torch.zeros(2)) and model.scratch.isnan().all()
    assert model.hidden.dtype == torch.float32 and not model.norm.running_mean.equal(norm)
    model(torch.randn(4, 2))
    carried.put_back()
    assert model.hidden.equal(torch.zeros(2))


def test_of_a_candidate_those_of_the_same_name():
    model, carried = Model(), Carried()
    carried.add(model, [".hidden", ".no such"])
    model(torch.ones(4, 2))
    carried.put_back()
    assert model.hidden.equal(torch.zeros(2)) and model.scratch.equal(torch.ones(2))


def test_a_call_that_fails_moves_what_it_moved():
    def fails():
        model.hidden = None
        raise OSError("no")

    model, carried = Model(), Carried()
    assert carried.find(model, fails) == [".hidden"]
    assert model.hidden.equal(torch.zeros(2))
