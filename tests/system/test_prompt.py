"""`warpgym prompt`, and the worked examples of prompts/: they must be what they are said to be."""

import ast
import json
import shutil
from pathlib import Path

import fake_gpu
import pytest
import serving
from support import CHECKOUT, PASSED, USAGE, wait_until, write, write_lines

PROMPTS = CHECKOUT / "prompts"
LANGUAGES = sorted(path.parent.name for path in PROMPTS.glob("*/language.json"))


def examples(language):
    """Problem, reference and solution of each."""
    folder = PROMPTS / language
    manifest = json.loads((folder / "language.json").read_text())

    def path(name):  # C's stands for that of a language without one
        return folder / name if (folder / name).exists() else PROMPTS / "c" / name

    return [
        (row["problem"], path(row["reference"]), folder / row["solution"])
        for row in manifest["examples"]
    ]


def is_native(language):
    return not examples(language)[0][0].startswith("torch/")


def messages(run):
    assert run.status == PASSED, run
    return json.loads(run.out)


# --- the GPU that judges ------------------------------------------------------------------------

# What prompts say of it, and what it cannot do.
GPUS = [
    ("T4", "Turing", "`mma.sync`", ("cp.async", "TF32", "TMA")),
    ("A100-80GB", "Ampere", "2039 GB/s", ("TMA", "cluster")),
    ("H100", "compute capability 9.0, 132 multiprocessors", "TMA", ()),
    ("RTX5090", "Blackwell", "TMA", ("cluster", "tcgen05")),
]


@pytest.mark.parametrize("row", GPUS, ids=lambda row: row[0])
@pytest.mark.parametrize("language", ["cuda", "torch-cuda", "triton"])
def test_a_named_gpu(warpgym, row, language):
    gpu, said, hint, unsaid = row
    problem = "relu" if is_native(language) else "torch/matmul"
    run = warpgym("prompt", problem, "--language", language, "-s", f"gym.gpu={gpu.lower()}")
    machine = run.out[run.out.index("# Machine") :]
    assert run.status == PASSED and said in machine, run
    assert language == "triton" or hint in machine
    assert [word for word in unsaid if word in machine] == []
    assert "There is no nvcc" not in machine  # whatever this machine has


def test_an_unknown_gpu(warpgym):
    run = warpgym("prompt", "relu", "-s", "gym.gpu=H1000")
    assert run.status == USAGE and "H100" in run.err


def first_prompt(server):
    body = {"problem": {"id": "relu"}, "language": "cuda"}
    answer = server.post("/v1/episodes", body)
    assert answer.status == 201, answer
    return answer.json["observation"]["messages"][-1]["content"]


def test_a_server_describes_its_workers_gpu(warpgym):
    """Also where the server itself judges nothing, and where the workers change."""
    with serving.serving(warpgym, worker=False) as server:
        worker = serving.Worker(server.queue, "one", "H100")
        try:
            wait_until(lambda: server.get("/v1/workers").json["workers"], "a worker")
            assert "NVIDIA H100 SXM (Hopper)" in first_prompt(server)
        finally:
            worker.stop()
        wait_until(lambda: not server.get("/v1/workers").json["workers"], "no worker")
        worker = serving.Worker(server.queue, "two", "L4")
        try:
            wait_until(lambda: server.get("/v1/workers").json["workers"], "another worker")
            assert "NVIDIA L4 (Ada)" in first_prompt(server)
            rollout = ("rollout", "--policy", "scripted:demo/gym/script.jsonl", "--quiet")
            rollout += ("-s", "gym.turns=1", "-s", "gym.language=cuda", "--server", server.url)
            out = warpgym.folder / "runs" / "remote"
            warpgym(*rollout, "-o", out, "softmax", cwd=CHECKOUT)
            assert "NVIDIA L4 (Ada)" in (out / "trajectories.jsonl").read_text()
            out = warpgym.folder / "runs" / "named"
            warpgym(*rollout, "-s", "gym.gpu=T4", "-o", out, "softmax", cwd=CHECKOUT)
            assert "NVIDIA T4 (Turing)" in (out / "trajectories.jsonl").read_text()
        finally:
            worker.stop()


def test_a_worker_says_what_its_gpu_is(warpgym):
    """A real worker, whose GPU the stand-in driver describes, and a server without one."""
    with serving.serving(warpgym, worker=False) as server:
        command = ("worker", "--queue", server.queue, "--name", "with-gpu")
        worker = warpgym.start(*command, environment=fake_gpu.DRIVEN)
        wait_until(lambda: server.get("/v1/workers").json["workers"], "a worker")
        devices = server.get("/v1/workers").json["workers"][0]["devices"]
        (gpu, *_), cpu = devices[:-1], devices[-1]
        prompt = first_prompt(server)
        worker.terminate()
        warpgym.finish(worker)
    facts = gpu["facts"]
    assert facts["name"] == gpu["name"] and facts["multiprocessors"] > 0
    assert facts["memory_gb_per_s"] > 0 and facts["compute_capability"] in prompt
    assert gpu["name"] in prompt and "facts" not in cpu


# --- the command ---------------------------------------------------------------------------------


def test_shows_the_prompt_of_a_model(warpgym):
    run = warpgym("prompt", "softmax", "--thinking", "--shots", "1")
    assert run.status == PASSED and "\x1b" not in run.out
    order = ("system:", "<think>", "user:", "row_sum", "# Task: `softmax`", "# Machine")
    places = [run.out.index(mark) for mark in order]
    assert places == sorted(places)
    assert run.out.rstrip().split("\n")[-1].startswith("about ")


@pytest.mark.parametrize("style", ["warpgym", "kevin", "drkernel"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_json(warpgym, style, language):
    problem = "relu" if is_native(language) else "torch/matmul"
    shown = messages(warpgym("prompt", problem, "--language", language, "--style", style, "--json"))
    assert set(shown) == {"messages", "tokens"} and shown["tokens"] > 100
    roles = [message["role"] for message in shown["messages"]]
    assert roles == (["user"] if style == "drkernel" else ["system", "user"])
    native = CHECKOUT / "problems" / "native" / problem / "reference.c"
    reference = native if native.exists() else CHECKOUT / "problems" / f"{problem}.py"
    assert reference.read_text().strip() in shown["messages"][-1]["content"]
    assert not any("{{" in message["content"] for message in shown["messages"])


def test_language_follows_the_problem(warpgym):
    assert "C function" in warpgym("prompt", "relu").out
    assert "@triton.jit" in warpgym("prompt", "torch/matmul").out


def test_budget_takes_examples_first(warpgym):
    def shown(*more):
        return messages(warpgym("prompt", "relu", "--shots", "3", "--json", *more))

    whole, tight = shown()["tokens"], shown("--token-budget", "1400")
    assert tight["tokens"] <= 1400 < whole
    assert "# Task: `relu`" in tight["messages"][-1]["content"]
    run = warpgym("prompt", "relu", "--token-budget", "50")
    assert run.status == USAGE and "the token budget is 50" in run.err and "the task" in run.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "name one problem"),
        (["softmax", "relu"], "name one problem"),
        (["sofmax"], "did you mean"),
        (["softmax", "--language", "trition"], "it must be one of c, "),
        (["softmax", "--language", "triton"], "does not solve native problems"),
        (["softmax", "--style", "kevn"], "did you mean 'kevin'?"),
        (["softmax", "--shots", "4"], "shots"),
        (["--check", "nowhere"], "'nowhere' is not a directory"),
        (["--check", ".", "softmax"], "--check takes a directory and no problem"),
    ],
)
def test_refuses(warpgym, arguments, says):
    run = warpgym("prompt", *arguments)
    assert run.status == USAGE and says in run.err and not run.out
    assert len(run.err.splitlines()) == 1


def test_check(warpgym, tmp_path):
    mine = tmp_path / "mine"
    shutil.copytree(PROMPTS / "kevin", mine / "gentle")
    write(mine / "warpgym" / "system.txt", "Hello, {{language.title}}.\n")
    run = warpgym.ok("prompt", "--check", mine)
    assert "warpgym/system.txt: replaces a built-in template" in run.out
    assert "gentle/later.txt: new" in run.out
    # What was checked is what is used.
    shown = messages(warpgym("prompt", "relu", "--json", "-s", f"prompts.path={mine}"))
    assert shown["messages"][0]["content"] == "Hello, C."
    shown = messages(
        warpgym("prompt", "relu", "--json", "--style", "gentle", "-s", f"prompts.path={mine}")
    )
    assert shown["messages"][0]["content"].startswith("You write optimised C kernels")
    write(mine / "gentle" / "later.txt", "fine\n{{feedback}} {{tunr.number}}\n")
    run = warpgym("prompt", "--check", mine, expect=USAGE)
    assert "gentle/later.txt:2:16: unknown name 'tunr'; did you mean 'turn'?" in run.err
    run = warpgym("prompt", "--check", tmp_path / "mine" / "gentle")
    assert run.status == USAGE and "no templates" in run.err


# --- the worked examples -------------------------------------------------------------------------


@pytest.mark.parametrize("language", LANGUAGES)
def test_references_are_the_problems_own(language):
    assert len(examples(language)) == 4  # three are given, and one of them may be what is asked
    for problem, reference, solution in examples(language):
        native = CHECKOUT / "problems" / "native" / problem / "reference.c"
        module = CHECKOUT / "problems" / f"{problem}.py"
        own = native if native.exists() else module
        assert reference.read_text() == own.read_text(), f"{reference} differs from {own}"
        assert solution.read_text().strip()


def batch_of(folder, language):
    rows = examples(language)
    lines = [{"problem": problem, "candidate": str(solution)} for problem, _, solution in rows]
    return write_lines(folder / "batch.jsonl", lines)


@pytest.mark.parametrize("language", sorted(filter(is_native, set(LANGUAGES) - {"cuda"})))
def test_examples_pass(warpgym, tmp_path, language):
    run = warpgym("eval", "--json", batch_of(tmp_path, language))
    assert [verdict["status"] for verdict in run.verdicts] == ["passed"] * 4, run
    assert {verdict["candidate"]["language"] for verdict in run.verdicts} == {language}


def test_cuda_examples_compile(warpgym, tmp_path):
    """Nothing of it runs without a GPU, but the judge says that it compiles."""
    batch = batch_of(tmp_path, "cuda")
    found = json.loads(warpgym("doctor", "--json").out)
    for verdict in warpgym("eval", "--json", batch).verdicts:
        assert verdict["status"] in ("passed", "unsupported"), verdict
        host = "<<<" in Path(verdict["candidate"]["path"]).read_text()
        if found["nvcc"] or (found["nvrtc"] and not found["nvrtc_error"] and not host):
            assert verdict["compiled"], verdict


@pytest.mark.parametrize("language", ["torch-cuda", "triton"])
def test_python_examples_are_modules(language):
    mark = "load_inline" if language == "torch-cuda" else "triton.jit"
    for _, reference, solution in examples(language):
        text = solution.read_text()
        tree = ast.parse(text)
        classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        assert set(classes) == {"ModelNew"} and mark in text
        model = {
            node.name: node
            for node in ast.parse(reference.read_text()).body
            if isinstance(node, ast.ClassDef)
        }["Model"]

        def signature(node):
            return {
                part.name: ast.unparse(part.args)
                for part in node.body
                if isinstance(part, ast.FunctionDef) and part.name in ("__init__", "forward")
            }

        assert signature(classes["ModelNew"]) == signature(model)
