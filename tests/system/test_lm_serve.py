"""`warpgym lm serve` by plain HTTP: what it opens at its start, and what a first request opens.

What its API answers: tests/lm/openai_checks.py, tests/lm/embedding_checks.py.
"""

import json
import resource
import signal
import urllib.error
import urllib.request
from pathlib import Path

import pytest
import support
from tiny_world import MODEL

THREADS = 9
# The memory of a batch is far more than what a small process has to spare.
CONFIG = MODEL | {"max_position_embeddings": 8192, "intermediate_size": 4096}


@pytest.fixture
def model(warpgym, tmp_path):
    """Random weights, and a tokenizer of our own README."""
    support.write(tmp_path / "config.json", json.dumps(CONFIG))
    made = tmp_path / "tiny"
    warpgym.ok("lm", "convert", "--fresh", tmp_path / "config.json", "--seed", 3, made)
    warpgym.ok("lm", "tokenizer", "--vocab", 320, "-o", made, support.ROOT / "README.md")
    return made


@pytest.fixture
def serve(warpgym, model):
    """Starts the server with so many threads: the process, and its URL."""
    started = []

    def start(threads):
        process = warpgym.start("lm", "serve", "-l", "127.0.0.1:0", "--threads", threads, model)
        started.append(process)
        line = process.stdout.readline().decode()
        assert line.startswith("warpgym: serving tiny at http://"), line
        return process, line.split()[-1]

    yield start
    for process in started:
        process.send_signal(signal.SIGINT)
        assert warpgym.finish(process).status == support.PASSED


def post(url, path, **body):
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(url + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=support.WAIT_S) as answer:
        return json.load(answer)


def threads_of(process):
    return len(list(Path(f"/proc/{process.pid}/task").iterdir()))


def test_the_first_embedding_opens_the_embedder(serve):
    process, url = serve(THREADS)
    assert post(url, "/completions", prompt="a kernel", max_tokens=4)["usage"]["prompt_tokens"] > 0
    before = threads_of(process)
    first = post(url, "/embeddings", input=["a kernel", "softmax"])
    opened = threads_of(process)
    assert opened - before >= THREADS - 1
    assert post(url, "/embeddings", input=["a kernel", "softmax"]) == first
    assert threads_of(process) - opened < THREADS - 1


@pytest.mark.skipif(
    support.CHECKOUT.parent.name == "build",
    reason="a sanitizer's allocator ends the process where memory is bounded",
)
def test_an_embedder_without_memory_is_no_fault_of_the_request(serve):
    """The next request tries again."""
    process, url = serve(1)
    post(url, "/completions", prompt="a kernel", max_tokens=4)
    size = int(Path(f"/proc/{process.pid}/statm").read_text().split()[0]) * resource.getpagesize()
    spare = 16 << 20
    _, hard = resource.prlimit(process.pid, resource.RLIMIT_AS, (size + spare, -1))
    with pytest.raises(urllib.error.HTTPError) as refused:
        post(url, "/embeddings", input="a kernel")
    assert refused.value.code == 500
    error = json.load(refused.value)["error"]
    assert (error["type"], error["code"]) == ("server_error", "internal")
    assert error["message"].startswith("no memory for the activations of a batch"), error
    resource.prlimit(process.pid, resource.RLIMIT_AS, (hard, hard))
    assert len(post(url, "/embeddings", input="a kernel")["data"]) == 1


def test_a_pooling_that_is_not_known_is_refused_at_the_start(warpgym, model):
    support.write(model / "1_Pooling/config.json", '{"pooling_mode_cls_token": true}')
    run = warpgym("lm", "serve", "-l", "127.0.0.1:0", model, expect=support.INFRASTRUCTURE)
    assert "1_Pooling/config.json" in run.err and "pooling_mode_cls_token" in run.err


def test_a_model_that_is_not_there_is_refused_at_the_start(warpgym, tmp_path):
    absent = tmp_path / "absent"
    run = warpgym("lm", "serve", "-l", "127.0.0.1:0", absent, expect=support.USAGE)
    assert f"{absent}/config.json: no such file" in run.err
