"""PyTorch candidates on a real GPU: `make test-gpu`. All are judged in one batch; each is then a
test of its own, and what was unexpected stands in a table at the end."""

import json
import os
import subprocess

import corpus
import pytest

REASON = corpus.why_not("python", "no Python with PyTorch")
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))
CANDIDATES = corpus.candidates()


@pytest.fixture(scope="module")
def verdicts():
    found = corpus.judge(CANDIDATES)
    corpus.TABLE[:] = corpus.table(CANDIDATES, found)
    return found


@pytest.mark.parametrize("one", CANDIDATES, ids=lambda one: one.name)
def test_candidate(one, verdicts):
    verdict = verdicts.get(one.path)
    if corpus.without_its_needs(one, verdict):
        pytest.skip(verdict["error"]["message"])
    found = corpus.complaint(one, verdict)
    assert found is None, f"{found}\n{json.dumps(verdict, indent=1)}"


def test_judge_survives(verdicts):
    """None of them costs the judge its life or spoils it for the next one."""
    bad = ("infrastructure_error", "cancelled")
    assert [path.stem for path, one in verdicts.items() if one["status"] in bad] == []


BUILT = """import torch


class Model(torch.nn.Module):
    def __init__(self, width, start):
        super().__init__()
        old = torch.Tensor(width, width)  # on the CPU, whatever device is the default
        torch.nn.init.normal_(old)
        self.weight = torch.nn.Parameter(old * torch.randn(width))
        self.offset = torch.nn.Parameter(torch.randn(width))
        self.register_buffer("steps", start + torch.arange(width, device=start.device))

    def forward(self, x):
        return x @ self.weight + self.offset * self.steps


def get_inputs():
    return [torch.randn(64, 1024)]


def get_init_inputs():
    return [1024, torch.randint(9, (1024,))]
"""
OTHER_NAMES = [("self.weight", "self.w"), ("self.offset", "self.o")]
MADE_OF_WEIGHTS = [
    ("        self.off", "        self.packed = self.weight.t().contiguous()\n        self.off"),
    ("x @ self.weight", "x @ self.packed.to(x.device).t()"),
]
ON_THE_GPU = [("torch.randn(width))\n        self.r", "torch.randn(width).cuda())\n        self.r")]
# name: what is replaced in the problem's text, and its verdict
WAYS = {
    "same_text": ([], "passed"),
    "by_name": ([("nn.init.normal_(old)", "nn.init.zeros_(old)")], "passed"),
    "by_seed": (OTHER_NAMES, "passed"),
    "of_weights": ([*MADE_OF_WEIGHTS, *OTHER_NAMES], "passed"),
    "moved_in_the_constructor": ([*ON_THE_GPU, *OTHER_NAMES], "passed"),
    "other_values": ([*OTHER_NAMES, ("self.o *", "2 * self.o *")], "wrong"),
}


def test_weights_are_made_as_kernelbench_makes_them(tmp_path):
    """On the CPU, by one generator in the order of the text, and moved: 256 MiB of them with a
    scratch of 1 MiB, too."""
    (tmp_path / "problem.py").write_text(BUILT, encoding="utf-8")
    large = BUILT.replace("1024", "8192").replace("torch.randn(64,", "torch.randn(2,")
    (tmp_path / "large.py").write_text(large, encoding="utf-8")
    tasks = []
    for problem, text in (("problem", BUILT), ("large", large)):
        for name, (changes, _) in WAYS.items():
            made = text.replace("Model(", "ModelNew(")
            for old, new in changes:
                assert old in made, old
                made = made.replace(old, new)
            path = tmp_path / f"{problem}_{name}.py"
            path.write_text(made, encoding="utf-8")
            tasks.append({"problem": str(tmp_path / f"{problem}.py"), "candidate": str(path)})
    batch = tmp_path / "batch.jsonl"
    batch.write_text("".join(json.dumps(task) + "\n" for task in tasks), encoding="utf-8")
    command = [corpus.WARPGYM, "eval", "--json", "--quiet", "--no-timing"]
    command += ["-s", "run.scratch_bytes=1MiB", "-s", "torch.device=cuda", batch]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    wanted = [status for _ in range(2) for _, status in WAYS.values()]
    assert [verdict["status"] for verdict in found] == wanted, [one["error"] for one in found]


MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")


@pytest.mark.parametrize("mode", MODES)
def test_compiled_reference(mode):
    """A reference of torch.compile's is opened, timed and agreed with, in each mode."""
    eager = next(one for one in CANDIDATES if one.name == "honest/h54_collects_garbage")
    verdict = corpus.judge([eager], {"torch.compile": mode}).get(eager.path)
    assert verdict, "no verdict"
    assert verdict["status"] == "passed", json.dumps(verdict, indent=1)


OWN = sorted((corpus.ROOT / "problems" / "torch").glob("*.py"))
# On a GPU PyTorch computes these in TF32 by default: inputs rounded to it are as good there.
CONVOLVE = ("torch/conv2d_bias_relu", "torch/conv_net_small", "torch/conv_transpose")
NEAR = (0.25, 4)  # tolerances: rounding decides what passes there, and it is the device's


def audited(device):
    """What `problem check` finds there, by problem."""
    done = subprocess.run(
        [corpus.WARPGYM, "problem", "check", "--json", *OWN],
        env=os.environ | {"WARPGYM_TORCH_DEVICE": device},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    found = {one["problem"]: one for one in map(json.loads, done.stdout.splitlines())}
    assert len(found) == len(OWN), done.stderr
    assert [one["error"] for one in found.values() if one["error"]] == []
    return found


def test_audits_find_the_same_on_both_devices():
    on_cpu, on_gpu = audited("cpu"), audited("cuda")
    compared = 0
    for problem, one in on_cpu.items():
        other = {attempt["attempt"]: attempt for attempt in on_gpu[problem]["attempts"]}
        assert other.keys() == {attempt["attempt"] for attempt in one["attempts"]}, problem
        for here in one["attempts"]:
            there = other[here["attempt"]]
            errors = [here["error_in_tolerances"], there["error_in_tolerances"]]
            if any(error is not None and NEAR[0] < error < NEAR[1] for error in errors):
                continue
            passed = [row["let_through"] == row["trials"] for row in (here, there)]
            if problem in CONVOLVE and here["code"] == "H13":
                passed[0] |= passed[1]
            assert passed[0] == passed[1], (problem, here, there)
            compared += 1
    assert compared > len(OWN)


def test_a_large_problem_is_audited(tmp_path):
    """Two matrices of 4096 by 4096: within the time that an audit has."""
    problem = tmp_path / "square.py"
    text = (corpus.ROOT / "tests/gpu/problems/matmul_large.py").read_text(encoding="utf-8")
    assert "2048" in text
    text = text.replace("2048", "4096")
    problem.write_text(text, encoding="utf-8")
    answer = tmp_path / "answer.py"
    answer.write_text(text.replace("Model", "ModelNew"), encoding="utf-8")
    command = [corpus.WARPGYM, "eval", "--json", "--quiet", "--no-timing"]
    command += ["-s", "torch.device=cuda", "-s", "cache.max_bytes=0", "--problem", problem, answer]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    verdict = json.loads(done.stdout)
    assert verdict["status"] == "passed", verdict
    assert verdict["problem_audit"]["outcome"] != "unknown", verdict["problem_audit"]
