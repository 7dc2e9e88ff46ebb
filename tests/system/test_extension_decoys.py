"""C++ extensions of PyTorch candidates on a CPU: whether they make the answer (catalogue H41)."""

import contextlib
import shutil
import signal

import pytest
import serving
import support
from support import PASSED, write, write_lines
from vectors import vector

pytest.importorskip("torch")
pytestmark = [
    pytest.mark.time_limit(times=4),
    pytest.mark.skipif(not shutil.which("g++"), reason="no C++ compiler"),
]

PROBLEM = """import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x @ x.t()).sum(1)


def get_inputs():
    return [torch.randn(24, 16)]


def get_init_inputs():
    return []
"""
# One source for all candidates: it is built once.
SOURCE = r'''
/* Own code alone: relu(x xᵀ) summed up by rows. */
torch::Tensor own(torch::Tensor x)
{
    auto y = torch::zeros({x.size(0), 1});
    const float *from = x.data_ptr<float>();
    float *to = y.data_ptr<float>();
    const int64_t rows = x.size(0), columns = x.size(1);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < rows; j++) {
            float dot = 0;
            for (int64_t k = 0; k < columns; k++)
                dot += from[i * columns + k] * from[j * columns + k];
            to[i] += dot > 0 ? dot : 0;
        }
    return y.view({rows});
}

void own_into(torch::Tensor x, torch::Tensor y) { y.copy_(own(x)); }

/* A part of it, and PyTorch before and behind. */
torch::Tensor own_relu(torch::Tensor x)
{
    auto y = torch::mm(x, x.t());
    float *to = y.data_ptr<float>();
    for (int64_t i = 0; i < y.numel(); i++)
        to[i] = to[i] > 0 ? to[i] : 0;
    return y.sum(1);
}

double own_sum(torch::Tensor row)
{
    double sum = 0;
    for (int64_t i = 0; i < row.numel(); i++)
        sum += row.data_ptr<float>()[i] > 0 ? row.data_ptr<float>()[i] : 0;
    return sum;
}

torch::Tensor library(torch::Tensor x) { return torch::relu(torch::mm(x, x.t())).sum(1); }

void library_into(torch::Tensor x, torch::Tensor y)
{
    y.copy_(library(x));
}

'''
FUNCTIONS = ["own", "own_into", "own_relu", "own_sum", "library", "library_into"]
CANDIDATE = f"""import torch
from torch.utils.cpp_extension import load_inline

ext = load_inline("decoys", r'''{SOURCE}''', functions={FUNCTIONS})
own, held = ext.own, {{"own": ext.own}}


def enclosed():
    function = ext.own
    return lambda x: function(x)


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.own, self.enclosed = ext.own, enclosed()

    def forward(self, x):
        y = torch.empty(x.shape[0])
        right = lambda: torch.relu(x @ x.t()).sum(1)
        %s
"""
OWN = {
    "by module": "return ext.own(x)",
    "by name": "return own(x)",
    "by attribute": "return self.own(x)",
    "by dictionary": "return held['own'](x)",
    "by closure": "return self.enclosed(x)",
    "into an argument": "ext.own_into(x, y)\n        return y",
    "a part": "return ext.own_relu(x)",
    "numbers": "return torch.tensor([ext.own_sum(row) for row in x @ x.t()])",
    "behind a library": "return ext.own_relu(x * 2) / 4",
    "or else": "return ext.own(x) if ext.own(x).isfinite().all() else right()",
}
NOT_OWN = {
    "never called": "return right()",
    "never reached": "return ext.own(x) if x.is_cuda else right()",
    "result dropped": "ext.own(x)\n        return right()",
    "written over": "ext.own_into(x, y)\n        return y.copy_(right())",
    "library": "return ext.library(x)",
    "library, written": "ext.library_into(x, y)\n        return y",
    "corrected": "y = ext.own(x)\n        return y + (right() - y)",
}
EVERY = OWN | NOT_OWN
QUICK = ("-s", "timing.min_samples=4", "-s", "timing.max_samples=4")


@pytest.fixture(scope="module")
def judged(module_warpgym):
    folder = module_warpgym.folder
    problem = write(folder / "problem.py", PROBLEM)
    files = [write(folder / f"{at}.py", CANDIDATE % line) for at, line in enumerate(EVERY.values())]
    lines = [{"problem": str(problem), "candidate": str(file)} for file in files]
    run = module_warpgym(
        *("eval", "--json", "--quiet", *QUICK),
        write_lines(folder / "batch.jsonl", lines),
    )
    assert run.status == PASSED, run
    return dict(zip(EVERY, run.verdicts, strict=True))


LIBRARY = "its answer is the same without its extensions: library operators do all of the work"


def warnings(verdict):
    return [(one["code"], one["evidence"]) for one in verdict["integrity"]["warnings"]]


@pytest.mark.parametrize("name", EVERY)
def test_eval(judged, name):
    verdict = judged[name]
    assert ("H41", LIBRARY) in warnings(verdict) if name in NOT_OWN else LIBRARY not in str(verdict)
    share = verdict["profile"]["own_time_fraction"]
    assert share == 0 if name in NOT_OWN else share is None or 0 <= share <= 1
    assert verdict["profile"]["own_launch_fraction"] == (0 if name in NOT_OWN else None)
    assert verdict["build"]["extensions"] == 1


# Of a call that is long beside what any call takes. Beside other work a share is a rough one.
SHARES = {
    "return ext.own(x)": (0.9, 1),
    """y, a = right(), x[:70, :1].clone()
        y[:70] += ext.own(a) - torch.relu(a @ a.t()).sum(1)
        return y""": (0, 0.6),
    "return right() * ext.own(torch.ones(1, 1))": (0, 0.6),
}


@pytest.fixture(scope="module")
def weighed(module_warpgym):
    folder = module_warpgym.folder
    problem = write(folder / "large.py", PROBLEM.replace("randn(24, 16)", "randn(700, 400)"))
    files = [write(folder / f"{at}.py", CANDIDATE % line) for at, line in enumerate(SHARES)]
    lines = [{"problem": str(problem), "candidate": str(file)} for file in files]
    batch = write_lines(folder / "shares.jsonl", lines)
    run = module_warpgym("eval", "--json", "--quiet", *QUICK, batch)
    assert run.status == PASSED, run
    return dict(zip(SHARES, run.verdicts, strict=True))


@pytest.mark.parametrize("line", SHARES)
def test_share_of_a_call(weighed, line):
    """By how much shorter calls are without its extension."""
    verdict, (low, high) = weighed[line], SHARES[line]
    share = verdict["profile"]["own_time_fraction"]
    assert low <= share <= high, verdict["profile"]
    assert [code for code, _ in warnings(verdict)] == (["H41"] if share < 0.3 else [])


@pytest.fixture(scope="module")
def server(tmp_path_factory, cache):
    warpgym = support.Warpgym(tmp_path_factory.mktemp("kernelgym"), cache)
    server = serving.Server(warpgym, "--workers", "1")
    with contextlib.ExitStack() as ended:
        ended.callback(warpgym.check_nothing_left)
        ended.callback(lambda: server.stop(signal.SIGTERM))
        yield server


@pytest.mark.parametrize("name", ["by module", "never called", "library"])
def test_kernelgym(server, name):
    body = vector("request") | {
        "task_id": name.replace(" ", "_"),
        "reference_code": PROBLEM,
        "kernel_code": CANDIDATE % EVERY[name],
        "backend": "cuda",
        "timeout": 240,
    }
    answer = server.post("/evaluate", body)
    assert answer.status == 200, answer
    found = answer.json
    assert found["correctness"] is True, found
    assert found["decoy_kernel"] is (name not in OWN), found
