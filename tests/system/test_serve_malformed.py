"""Bodies that are none, to every route: each gets an answer of its own, and the server lives on."""

import json
import random
import re

import pytest
import serving
from serving import evaluation
from support import ROOT
from vectors import vector

# A row of a route table: a route that is new is asked, too.
ROW = re.compile(r'^    \{HTTP_([A-Z]+), "(/[^"]*)", \w+,(.*?)\},$', re.MULTILINE | re.DOTALL)
FILES = sorted(ROOT.glob("src/server/**/*.c"))
# Other commands' routes: test_mcp.py, tests/lm/openai_checks.py and test_tinker_serve.py ask those.
ELSEWHERE = re.compile(r"/(mcp/http\.c|lm/api\.c|tinker/\w+\.c)$")
SOURCES = [
    file.read_text(encoding="utf-8") for file in FILES if not ELSEWHERE.search(file.as_posix())
]
ROUTES = sorted(
    {
        (method, re.sub(r"[:*]\w+", "x", path), "BODY" in rest or "OPTIONAL" in rest)
        for text in SOURCES
        for method, path, rest in ROW.findall(text)
    }
)
POSTS = [path for _, path, takes_body in ROUTES if takes_body] + ["/v1/evaluations?wait_s=1"]
OTHERS = [(method, path) for method, path, takes_body in ROUTES if not takes_body]
# What is still good there would be waited for.
WAITING = ("/evaluate/batch", "/workflow/submit")
BODIES = [
    b"",
    b"\x00",
    b"\xff\xfe{}",
    b"null",
    b"[]",
    b"{",
    b'{"a": 1, "a": 2}',
    b'{"problem": {"id": "softmax\\u0000"}, "candidate": {"source": "x"}}',
    b"[" * 100000,
    b'{"a":' * 100000,
    b'{"evaluations": [' + b"{}," * 999 + b"{}]}",
    b'{"tasks": [' + b"[]," * 99 + b"[]]}",
    b'{"id": 1e999}',
    b'{"x": "\xed\xa0\x80"}',
    b'"' + b"x" * 1000000 + b'"',
    b"{}" * 1000,
    b'{"problem": [], "candidate": {}, "settings": 1, "notes": []}',
]
SEED = 20260131
MUTATIONS = 300


@pytest.fixture(scope="module")
def server(module_warpgym):
    with serving.serving(module_warpgym, worker=False) as running:
        yield running


def check(answer):
    assert 200 <= answer.status < 600 and answer.status != 500 or "missing" in answer.text, answer
    if answer.headers["Content-Type"] == "application/json":
        json.loads(answer.text)


def test_no_route_is_left_out():
    """A row that is laid out in another way would be."""
    for text in SOURCES:
        assert len(ROW.findall(text)) == len(re.findall(r"^    \{HTTP_", text, re.MULTILINE))
    assert ("GET", "/v1/events") in OTHERS and "/worker/unregister" in POSTS


@pytest.mark.parametrize("path", POSTS)
def test_bodies_that_are_none(server, path):
    for body in BODIES:
        for kind in ("application/json", "text/plain", "application/json; charset=utf-16"):
            answer = server.post(path, body, headers={"Content-Type": kind})
            check(answer)
            if path.startswith(("/v1", "/evaluate", "/workflow")):
                assert answer.status in (400, 415, 500), (body[:50], answer)
    assert server.process.poll() is None


@pytest.mark.parametrize("method, path", OTHERS)
def test_bodies_where_none_belongs(server, method, path):
    assert server.ask(method, path, b"{}" * 100).status == 413
    for other in {"GET", "PUT", "POST", "PATCH", "DELETE"} - {method}:
        answer = server.ask(other, path, b"{}")
        check(answer)
        assert answer.status != 200, (other, path)


def mutated(generator, text):
    data = bytearray(text)
    for _ in range(generator.randint(1, 8)):
        at = generator.randrange(len(data))
        match generator.randrange(4):
            case 0:
                data[at] = generator.randrange(256)
            case 1:
                del data[at : at + generator.randint(1, 40)]
            case 2:
                data[at:at] = data[at : at + generator.randint(1, 40)]
            case _:
                data[at:at] = generator.choice([b"{", b"]", b'"', b"\\u0000", b"-", b"null", b","])
        if not data:
            break
    return bytes(data)


def test_requests_with_mistakes(server):
    """Whatever a slip of the pen makes of a good request: accepted or refused, never a fault."""
    generator = random.Random(SEED)
    task = vector("request")
    good = [
        ("/v1/evaluations", json.dumps(evaluation(id="m", notes={"a": [1, 2]})).encode()),
        ("/v1/batches", json.dumps({"evaluations": [evaluation(), evaluation()]}).encode()),
        ("/debug/validate", json.dumps(task).encode()),
        ("/workflow/submit", json.dumps({"task_id": "w", "payload": task}).encode()),
        ("/evaluate/batch", json.dumps({"batch_id": "b", "tasks": [task] * 2}).encode()),
    ]
    for _ in range(MUTATIONS):
        path, body = generator.choice(good)
        body = mutated(generator, body)
        if path in WAITING:
            connection = server.connect()
            connection.request("POST", path, body, {"Content-Type": "application/json"})
            connection.close()
            continue
        check(server.post(path, body))
    assert server.get("/ready").status == 200
