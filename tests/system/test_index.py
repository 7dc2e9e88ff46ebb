"""`warpgym index`: build, search, stats; embeddings from an endpoint of the test's own."""

import array
import hashlib
import json
import math
import os
import re
import time
from signal import SIGTERM

import fake_http
import pytest
from support import (
    INFRASTRUCTURE,
    INTERRUPTED,
    PASSED,
    ROOT,
    SOME_FAILED,
    USAGE,
    kernelbench_module,
    kill,
    read_lines,
    write,
    write_lines,
)

DIMENSION = 48
PAIRS = ROOT / "tests" / "retrieval" / "corpus"
RELU = """import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return {}
"""


def kernelbook(name, reference, solution):
    return {"entry_point": name, "python_code": reference, "triton_code": solution, "stars": 3}


def archive(name, reference, solution, **more):
    return {
        "Op_Name": name,
        "PyTorch_Code_Module": reference,
        "CUDA_Code": solution,
        "CUDA_Speedup_Native": 1.7,
        "Correct": True,
        "NCU_Profile": None,
        **more,
    }


def search(warpgym, index, *words, status=PASSED):
    run = warpgym("index", "search", index, "--json", *words, expect=status)
    return [json.loads(line) for line in run.out.splitlines()]


@pytest.fixture(scope="module")
def own(module_warpgym):
    """An index of our own problems."""
    index = module_warpgym.folder / "own"
    run = module_warpgym("index", "build", index, "--own")
    assert run.status == PASSED and run.err == "", run
    return index


def test_build_of_every_form(warpgym, tmp_path):
    write_lines(
        tmp_path / "book.jsonl",
        [
            kernelbook("Relu", RELU.format("torch.relu(x)"), "@triton.jit\ndef relu(x): pass\n"),
            kernelbook("Empty", "", "def f(): pass\n"),
            {"nothing": "of it"},
        ],
    )
    write_lines(
        tmp_path / "archive" / "level_1.jsonl",
        [
            archive("tanh", RELU.format("torch.tanh(x)"), "__global__ void tanh_kernel() {}\n"),
            archive("bad", RELU.format("torch.exp(x)"), "__global__ void e() {}\n", Correct=False),
        ],
    )
    write(tmp_path / "mine" / "sigmoid" / "reference.py", RELU.format("torch.sigmoid(x)"))
    write(tmp_path / "mine" / "sigmoid" / "kernel.cu", "__global__ void solution() {}\n")
    sources = [tmp_path / "book.jsonl", tmp_path / "archive", tmp_path / "mine"]
    run = warpgym.ok("index", "build", "kernels", "--json", *sources)
    stats = json.loads(run.out)
    assert stats["languages"] == {"triton": 1, "cuda": 2} and stats["embeddings"] is None
    book, level, mine = stats["sources"]
    assert (book["taken"], book["empty"], book["bad"]) == (1, 1, 1)
    assert "book.jsonl:3: not a line of kernelbook" in book["complaints"][0]
    assert (level["taken"], level["incorrect"]) == (1, 1) and mine["taken"] == 1
    assert json.loads(warpgym("index", "stats", "kernels", "--json").out) == stats
    text = warpgym("index", "stats", "kernels").out
    assert "triton 1" in text and "book.jsonl:3" in text
    (found,) = search(warpgym, "kernels", "tanh")
    assert found["name"] == "tanh" and found["source"] == "archive" and found["speedup"] == 1.7
    run = warpgym("index", "build", "all", "-q", "--include-incorrect", tmp_path / "archive")
    assert run.status == PASSED and run.out == ""
    assert search(warpgym, "all", "exp")[0]["name"] == "bad"


def test_search_results_can_be_a_source(warpgym, own, tmp_path):
    found = search(warpgym, own, "--problem", "softmax", "-n", "20")
    assert len(found) > 5 and all(example["problem"] != "softmax" for example in found)
    write_lines(tmp_path / "again.jsonl", found)
    assert warpgym("index", "build", "again", "again.jsonl").status == PASSED
    again = search(warpgym, "again", "--problem", "softmax", "-n", "20")
    assert {example["name"] for example in again} <= {example["name"] for example in found}


def test_trajectories(warpgym, tmp_path):
    listed = warpgym("problem", "list", "--json").out.splitlines()
    hashes = {problem["id"]: problem["hash"] for problem in map(json.loads, listed)}
    turn = {"correct": True, "excluded": False, "code": "void solution(void) {}\n", "speedup": 3}
    episode = {"episode": "1", "problem": "relu", "problem_hash": hashes["relu"], "language": "c"}
    write_lines(
        tmp_path / "trajectories.jsonl",
        [
            {**episode, "best_turn": 1, "turns": [{**turn, "correct": False}, turn]},
            {**episode, "best_turn": -1, "turns": [{**turn, "correct": False}]},
            {**episode, "best_turn": 0, "turns": [turn], "problem_hash": "0" * 64},
        ],
    )
    run = warpgym("index", "build", "kernels", "--json", "trajectories.jsonl")
    source = json.loads(run.out)["sources"][0]
    assert (source["taken"], source["unsolved"]) == (1, 1)
    assert source["of unknown problems"] == 1
    (found,) = search(warpgym, "kernels", "relu")
    assert found["problem"] == "relu" and found["category"] == "elementwise"
    assert "void solution" in found["reference"] and found["speedup"] == 3


@pytest.mark.parametrize("renamed", [False, True])
def test_a_kernelbench_task_is_known_by_its_text(warpgym, tmp_path, renamed):
    """The archive's solutions of the very task that is asked, whatever its name."""
    task = kernelbench_module()
    write(tmp_path / "bench" / "KernelBench" / "level1" / "7_Task.py", task)
    stolen = re.sub(r"\bModel\b", "Net", task) if renamed else task
    stolen = re.sub(r"\bx\b", "inp", stolen).replace("width", "cols") if renamed else stolen
    stolen = "# from the archive\n" + stolen
    level = {} if renamed else {"Level_ID": 1, "Task_ID": 7}
    lines = [
        archive("task", stolen, "__global__ void the_answer() {}\n", **level),
        archive("other", RELU.format("x.cumsum(dim=1) * 2"), "__global__ void other() {}\n"),
    ]
    write_lines(tmp_path / "archive.jsonl", lines)
    assert warpgym("index", "build", "kernels", "archive.jsonl").status == PASSED
    words = ("--problem", "level1/7", "--problems", "bench")
    run = warpgym("index", "search", "kernels", *words, "--json")
    assert "the_answer" not in run.out
    found = search(warpgym, "kernels", *words, "--unguarded")
    assert found[0]["name"] == "task"
    run = warpgym("index", "search", "kernels", "bench/KernelBench/level1/7_Task.py")
    assert "the_answer" not in run.out


def test_refusals(warpgym, own, tmp_path):
    write(tmp_path / "taken" / "file.txt", "not ours\n")
    write(tmp_path / "none.jsonl", "{}\n")
    write(tmp_path / "folder" / "notes.txt", "none\n")
    rows = [
        (["build"], "name an index"),
        (["build", "x"], "name a source, or give --own"),
        (["build", "x", "absent.jsonl"], "no such file"),
        (["build", "x", "--own", "--format", "kernelbok"], "did you mean"),
        (["build", "x", "--own", "--level", "eleven"], "--level"),
        (["build", "taken", "--own"], "is not an index"),
        (["build", "x", "none.jsonl"], "no examples in"),
        (["build", "x", "folder"], "holds no examples"),
        (["build", "x", "none.jsonl", "--format", "problems"], "needs a directory"),
        (["build", "x", "--own", "--embeddings"], "retrieval.embeddings_model"),
        (["search", "x", "relu"], "has no index"),
        (["search", own], "words, a file, or --problem"),
        (["search", own, "relu", "--problem", "relu"], "words, a file, or --problem"),
        (["search", own, "--problem", "sofmax"], "did you mean 'softmax'"),
        (["stats", "x"], "has no index"),
        (["stats", "taken"], "has no index"),
    ]
    for words, complaint in rows:
        run = warpgym("index", *words)
        assert run.status in (USAGE, INFRASTRUCTURE) and complaint in run.err, (words, run)
        assert len(run.err.splitlines()) == 1, run
    assert not (tmp_path / "x").exists() and not list(tmp_path.glob("*.building-*"))
    assert search(warpgym, own, "no such words there", status=SOME_FAILED) == []


def test_a_killed_build_leaves_the_old_index(warpgym, tmp_path):
    start = [kernelbook("Old", RELU.format("torch.relu(x)"), "def old(): pass\n")]
    write_lines(tmp_path / "one.jsonl", start)
    assert warpgym("index", "build", "kernels", "one.jsonl").status == PASSED
    body = RELU.format("torch.tanh(x) * {}")
    many = (kernelbook(f"N{i}", body.format(i), f"def f{i}(): return {i}\n") for i in range(60000))
    write_lines(tmp_path / "many.jsonl", many)
    for signal in ("stop", "kill"):
        process = warpgym.start("index", "build", "kernels", "many.jsonl")
        deadline = time.monotonic() + 60
        while not list(tmp_path.glob("kernels.building-*/index.db")):
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.01)
        if signal == "kill":
            kill(process.pid)
        else:
            process.terminate()
        run = warpgym.finish(process)
        assert run.status != PASSED
        assert signal == "kill" or (run.status == INTERRUPTED and "old index" in run.err)
        assert search(warpgym, "kernels", "relu")[0]["name"] == "Old"
    # What the killed one left is removed by the next.
    assert warpgym("index", "build", "kernels", "one.jsonl").status == PASSED
    assert not list(tmp_path.glob("kernels.building-*"))


# --- embeddings ----------------------------------------------------------------------------------


def embed(text):
    """Words, each as a direction of its own."""
    vector = [0.01] * DIMENSION
    for word in re.findall(r"[a-z]+", text.lower()):
        vector[int(hashlib.sha256(word.encode()).hexdigest(), 16) % DIMENSION] += 1
    # Not of length 1: that is warpgym's to see to.
    return [round(7 * value, 6) for value in vector]


class Endpoint(fake_http.Handler):
    def do_POST(self):
        fake, body = self.fake, self.body()
        fake.asked.append((self.path, self.headers.get("Authorization"), body))
        if fake.busy > 0:
            fake.busy -= 1
            self.send_text("", 503)
            return
        rows = [{"index": i, "embedding": embed(text)} for i, text in enumerate(body["input"])]
        self.send_json({"data": fake.spoil(rows[::-1])})


class Embeddings(fake_http.FakeServer):
    handler = Endpoint

    def __init__(self):
        super().__init__()
        self.asked, self.busy, self.spoil = [], 0, lambda rows: rows

    def settings(self, **other):
        settings = {"url": f"{self.url}/v1", "model": "words", "token": "sesame"} | other
        return [
            part
            for key, value in settings.items()
            for part in ("-s", f"retrieval.embeddings_{key}={value}")
        ]


def test_embeddings(warpgym):
    with Embeddings() as server:
        server.busy = 1
        build = ("index", "build", "dense", "--own", PAIRS, "--embeddings", "--json")
        run = warpgym.ok(*build, *server.settings())
        stats = json.loads(run.out)
        assert stats["embeddings"] == {"model": "words", "dimension": DIMENSION}
        path, token, body = server.asked[-1]
        assert (path, token, body["model"]) == ("/v1/embeddings", "Bearer sesame", "words")
        sent = sum(len(body["input"]) for _, _, body in server.asked[1:])
        assert sent == stats["examples"]
        vectors = (warpgym.folder / "dense" / "vectors.f32").read_bytes()
        assert len(vectors) == 4 * DIMENSION * stats["examples"]

        # What words alone do not find, vectors do: nothing of this question is in the index.
        question = "import qqq zzz softmaxes"
        words = search(warpgym, "dense", question, status=SOME_FAILED)
        assert words == []
        found = search(warpgym, "dense", question, *server.settings())
        assert len(found) == 3
        # A filter by language is part of this search, too.
        only = search(warpgym, "dense", question, "--language", "cuda", *server.settings())
        assert len(only) == 3 and {example["language"] for example in only} == {"cuda"}
        # Both together: reciprocal ranks add up.
        both = search(warpgym, "dense", "--problem", "softmax", *server.settings())
        assert all(example["problem"] != "softmax" for example in both)
        assert max(example["score"] for example in both) > 1 / 61


def test_embeddings_that_do_not_fit(warpgym):
    with Embeddings() as server:
        build = ("index", "build", "dense", PAIRS, "--embeddings", "-q")
        assert warpgym(*build, *server.settings()).status == PASSED
        run = warpgym("index", "search", "dense", "relu", *server.settings(model="other"))
        assert run.status == USAGE and "was built with embeddings of 'words'" in run.err
        server.spoil = lambda rows: [{**row, "embedding": row["embedding"][1:]} for row in rows]
        run = warpgym("index", "search", "dense", "relu", *server.settings())
        assert run.status == INFRASTRUCTURE and "47 numbers instead of 48" in run.err
        spoiled = {
            "one too few": lambda rows: rows[1:],
            "the same twice": lambda rows: [{**row, "index": 0} for row in rows],
            "zeros": lambda rows: [{**row, "embedding": [0.0] * DIMENSION} for row in rows],
            "text": lambda rows: [{**row, "embedding": ["1"] * DIMENSION} for row in rows],
            "no list": lambda rows: {"rows": len(rows)},
        }
        for name, spoil in spoiled.items():
            server.spoil = spoil
            run = warpgym(*build, *server.settings())
            assert run.status == INFRASTRUCTURE and "embedding" in run.err, (name, run)
        server.spoil = lambda rows: rows
        assert search(warpgym, "dense", "relu", *server.settings())


def test_vectors_are_of_length_one(warpgym):
    with Embeddings() as server:
        build = ("index", "build", "dense", PAIRS, "--embeddings", "-q", *server.settings())
        assert warpgym(*build).status == PASSED
    numbers = array.array("f", (warpgym.folder / "dense" / "vectors.f32").read_bytes())
    pairs = list(read_lines(PAIRS / "pairs.jsonl"))
    assert len(numbers) == DIMENSION * len(pairs)
    for row, pair in enumerate(pairs):
        vector = numbers[DIMENSION * row : DIMENSION * (row + 1)]
        expected = embed(f"{pair['name']}\n{pair['reference']}"[:8000])
        length = math.sqrt(sum(value * value for value in expected))
        for got, wanted in zip(vector, expected, strict=True):
            assert got == pytest.approx(wanted / length, abs=1e-6)


def test_no_pipes_and_devices(warpgym, tmp_path):
    """In a directory they are passed over; one that is named can be stopped."""
    folder = tmp_path / "odd"
    folder.mkdir()
    os.mkfifo(folder / "a.jsonl")
    (folder / "b.jsonl").symlink_to("/dev/zero")
    (folder / "c.jsonl").symlink_to("/etc/passwd")
    run = warpgym("index", "build", "odd-index", folder, "-q", timeout=60)
    assert run.status == USAGE and "no examples in" in run.err, run
    building = warpgym.start("index", "build", "zero-index", "/dev/zero", "-q")
    time.sleep(0.5)
    building.send_signal(SIGTERM)
    assert building.wait(timeout=60) == INTERRUPTED
