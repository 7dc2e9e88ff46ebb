"""`warpgym ask`, and with it everything that happens between us and an endpoint of models."""

import email.utils
import json
import signal
import socket
import threading
import time

import pytest
from fake_openai import (
    FakeOpenAI,
    chunk,
    dropped,
    events,
    flood,
    redirect,
    silent,
    status,
    streamed,
    whole,
)
from support import INFRASTRUCTURE, INTERRUPTED, PASSED, USAGE, wait_until

SECRET = "sk-secret-4711-abc"


@pytest.fixture
def endpoint():
    with FakeOpenAI() as fake:
        yield fake


@pytest.fixture
def ask(warpgym, endpoint):
    def run(*arguments, settings=(), message="Hello?", **options):
        given = ["policy.backoff_ms=5ms", *settings]
        words = [word for setting in given for word in ("-s", setting)]
        message = [message] if message else []
        return warpgym("ask", "--policy", endpoint.url, *words, *arguments, *message, **options)

    return run


def error(message, **more):
    return {"error": {"message": message} | more}


# --- answers -------------------------------------------------------------------------------------


def test_answer(ask, endpoint):
    endpoint.plan = [streamed("An answer, ünïcode too.", reasoning="let me think")]
    prices = ["policy.price_prompt=2", "policy.price_cached=1", "policy.price_completion=10"]
    run = ask("--system", "Be curt.", settings=prices)
    assert (run.status, run.out) == (PASSED, "An answer, ünïcode too.\n"), run
    # 600 fresh, 400 cached, 200 written
    assert "fake-1-snapshot: 1000 + 200 tokens (400 cached), cost 0.0036, first token" in run.err
    question = endpoint.questions[0]
    assert question.pop("seed") == 0
    assert question == {
        "model": "fake-1",
        "messages": [
            {"role": "system", "content": "Be curt."},
            {"role": "user", "content": "Hello?"},
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    assert "Authorization" not in endpoint.headers[0]


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
def test_everything_known(ask, endpoint, key):
    endpoint.plan = [streamed("a b c", reasoning="hm hm", key=key, logprobs=True, finish="length")]
    run = ask("--json", "--seed", 7, settings=["policy.logprobs=true"])
    answer = json.loads(run.out)
    assert answer["text"] == "a b c" and answer["reasoning"] == "hm hm "
    assert answer["finish"] == "length" and answer["model"] == "fake-1-snapshot"
    assert answer["cost"] is None and answer["asked"] == 1
    assert [one["token"] for one in answer["logprobs"]] == ["a ", "b ", "c"]
    assert [one["logprob"] for one in answer["logprobs"]] == [0, -0.5, -1]
    assert 0 < answer["first_token_ms"] <= answer["answer_ms"]
    assert endpoint.questions[0]["logprobs"] is True and endpoint.questions[0]["seed"] == 7


def test_request_that_is_sent(ask, endpoint):
    settings = [
        "policy.temperature=0.7", "policy.top_p=0.9", "policy.max_tokens=50", "policy.stop=END",
        "policy.max_tokens_key=max_completion_tokens", "policy.seed=false", "policy.stream=false",
        'policy.extra={"top_k": 20, "top_p": null, "nested": {"a": [1]}}',
    ]  # fmt: skip
    endpoint.plan = [whole("whole")]
    run = ask("--model", "other", settings=settings)
    assert (run.status, run.out) == (PASSED, "whole\n"), run
    assert endpoint.questions[0] == {
        "model": "other",
        "messages": [{"role": "user", "content": "Hello?"}],
        "temperature": 0.7, "max_completion_tokens": 50, "stop": "END", "top_k": 20,
        "nested": {"a": [1]},
    }  # fmt: skip


@pytest.mark.parametrize(("plan", "text"), [
    (whole("not streamed"), "not streamed"),  # although it was asked for
    (whole(None, refusal="I won't."), "I won't."),
    (whole([{"type": "text", "text": "in "}, {"type": "text", "text": "parts"}]), "in parts"),
    (streamed("no end mark", done=False), "no end mark"),
    (streamed("no reason", finish=None), "no reason"),
    (streamed("no usage", usage=None), "no usage"),
    (streamed("lingers", stay=60), "lingers"),
    (streamed(""), ""),
    (events(": hi\r\n\r\ndata:" + json.dumps(chunk({"content": "CR"})) + "\r\n\r",
            "\nevent: x\ndata: " + json.dumps(chunk({"content": "LF"}, "stop"))[:30],
            json.dumps(chunk({"content": "LF"}, "stop"))[30:] + "\n\ndata: [DONE]\n\n"), "CRLF"),
])  # fmt: skip
def test_shapes(ask, endpoint, plan, text):
    endpoint.plan = [plan]
    run = ask()
    assert (run.status, run.out) == (PASSED, text + "\n"), run
    assert len(endpoint.questions) == 1


# --- asking again --------------------------------------------------------------------------------


@pytest.mark.parametrize("failure", [
    status(500, error("oops")), status(502, "<html>bad gateway", kind="text/html"), status(503),
    status(429, error("slow down")), status(408), dropped(),
    streamed("one two three", cut=2),
    streamed("one two three", finish=None, done=False),  # ends in good order, and is not whole
    events("data: {no JSON\n\n", "data: [DONE]\n\n"),
    events("data: " + json.dumps(chunk({"content": "bad"})) + "\n\ndata: "
           + json.dumps(error("the engine died", code=500)) + "\n\ndata: [DONE]\n\n"),
    events("data: " + json.dumps(chunk({"content": "bad"}, "error")) + "\n\n"),
    silent(begin=True), silent(ping=0.02),
])  # fmt: skip
def test_asks_again(ask, endpoint, failure):
    endpoint.plan = [failure, streamed("good at last")]
    # With a model, so that its connection is new: a kept one may be gone, and that is no try.
    run = ask("--json", "--model", "m", settings=["policy.first_token_timeout_ms=300ms"])
    assert run.status == PASSED, run
    answer = json.loads(run.out)
    assert answer["text"] == "good at last" and answer["asked"] == 2
    assert endpoint.questions[0] == endpoint.questions[1]


@pytest.mark.parametrize("date", [False, True])
def test_retry_after(ask, endpoint, date):
    after = email.utils.formatdate(time.time() + 2, usegmt=True) if date else "1"
    endpoint.plan = [status(429, retry_after=after), streamed("good")]
    run = ask()
    assert run.status == PASSED, run
    # A date has whole seconds.
    assert endpoint.times[1] - endpoint.times[0] > (0.5 if date else 0.99)


def test_gives_up(ask, endpoint):
    endpoint.plan = [status(500, error("it is broken"))]
    run = ask(settings=["policy.attempts=3"])
    assert run.status == INFRASTRUCTURE and run.complaint.endswith(
        "/v1: it is broken (500) (3 attempts)"
    )
    endpoint.plan = [status(429, error("too many"), retry_after="3600")]
    run = ask(settings=["policy.retry_budget_ms=5s"])
    assert run.status == INFRASTRUCTURE and run.complaint.endswith("too many (429)")


@pytest.mark.parametrize(("plan", "words"), [
    (status(400, error("context length exceeded.")), "/v1: context length exceeded (400)"),
    (status(401, {"error": "Unauthorized"}), "Unauthorized: the token was refused; set policy"),
    (status(404, {"detail": "Not Found"}), "(with /v1)"),
    (status(422, {"detail": [{"msg": "field required", "loc": []}]}), "field required (422)"),
    (status(400, "no such\x1b[31m model\n", kind="text/plain"), "no such?[31m model? (400)"),
    (status(400, f"bad token {SECRET}!" * 50, kind="text/plain"), "bad token [token]!bad"),
    (status(429, error("no money left", code="insufficient_quota")), "no money left (429)"),
    (events("data: " + json.dumps(error("bad prompt", code=400)) + "\n\n"), "bad prompt (400)"),
    (redirect("http://127.0.0.2:1/"), "redirects to another address"),
])  # fmt: skip
def test_refusals(ask, endpoint, plan, words):
    endpoint.plan = [plan]
    run = ask(settings=[f"policy.token={SECRET}", "log.level=debug"])
    assert run.status in (USAGE, INFRASTRUCTURE) and words in run.err, run
    assert len(endpoint.questions) == 1
    assert endpoint.headers[0]["Authorization"] == f"Bearer {SECRET}"
    assert SECRET[:9] not in run.err + run.out


# --- bounds --------------------------------------------------------------------------------------


def test_huge_answers(ask, endpoint):
    for plan in (
        flood("data: " + json.dumps(chunk({"content": "x" * 100000})) + "\n\n"),
        flood("data: " + "x" * 1000000),
        flood(": " + "x" * 1000000 + "\n"),
        flood("[" * 1000000, "application/json"),
    ):
        endpoint.plan = [plan]
        run = ask()
        assert run.status == USAGE and "more than" in run.complaint, run
    assert len(endpoint.questions) == 4


@pytest.mark.parametrize(("plan", "setting", "words"), [
    (silent(), "policy.timeout_ms=300ms", "no whole answer in 0.3 s"),
    (silent(ping=0.02), "policy.first_token_timeout_ms=100ms", "no part of an answer"),
    (streamed("a b c", pause=20), "policy.token_timeout_ms=100ms", "stalled"),
])  # fmt: skip
def test_timeouts(ask, endpoint, plan, setting, words):
    endpoint.plan = [plan]
    run = ask(settings=["policy.attempts=2", setting])
    assert run.status == INFRASTRUCTURE and words in run.complaint, run
    # A whole answer that takes too long would do so again.
    assert len(endpoint.questions) == (1 if "whole" in words else 2)


def test_slow_is_not_late(ask, endpoint):
    endpoint.plan = [streamed("a b c d e f", pause=0.1)]
    run = ask(settings=["policy.token_timeout_ms=5s", "policy.first_token_timeout_ms=5s"])
    assert (run.status, run.out) == (PASSED, "a b c d e f\n"), run


@pytest.mark.parametrize("plan", [silent(), streamed("a b", pause=60), status(429, {}, "60")])
def test_interrupt(warpgym, endpoint, plan):
    endpoint.plan = [plan]
    process = warpgym.start("ask", "--policy", endpoint.url, "--model", "m", "Hello?")
    wait_until(lambda: endpoint.questions, "it asks")
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    run = warpgym.finish(process)
    assert run.status == INTERRUPTED and run.err == "", run
    assert time.monotonic() - began < 30  # not the minute that it would take


# --- many at once --------------------------------------------------------------------------------


def test_many_at_once(ask, endpoint):
    endpoint.plan = [streamed("many", first=0.05)]
    run = ask("-n", 40, "--json", settings=["policy.concurrency=8"])
    answers = [json.loads(line) for line in run.out.splitlines()]
    assert [one["sample"] for one in answers] == list(range(40))
    assert {one["text"] for one in answers} == {"many"}
    assert sorted(one["seed"] for one in endpoint.questions) == list(range(40))
    assert endpoint.most == 8
    assert endpoint.connections <= 8  # kept from question to question


def test_many_with_failures(ask, endpoint):
    bad = [status(500), dropped(), streamed("a b", cut=1), status(503), status(429)]
    endpoint.plan = bad * 4 + [streamed("good")]
    run = ask("-n", 30, "--json", settings=["policy.concurrency=6", "policy.attempts=30"])
    answers = [json.loads(line) for line in run.out.splitlines()]
    assert [one["text"] for one in answers] == ["good"] * 30, run.err
    assert len(endpoint.questions) == 50


# --- models, tokens, slips -----------------------------------------------------------------------


def test_check(ask, endpoint):
    run = ask("--check", message=None)
    assert run.status == PASSED and run.out == "1 model\n  fake-1 (used)\n", run
    assert endpoint.questions[0]["max_tokens"] == 1
    endpoint.models = ["b", "a"]
    run = ask("--check", message=None)
    assert run.status == USAGE and "has 2 models: name one with --model" in run.complaint
    assert run.complaint.endswith("(b, a)")
    endpoint.models_status = 404
    run = ask("--check", "--model", "m", message=None)
    assert run.status == PASSED and "cannot list its models" in run.err, run


def test_token_of_the_environment(warpgym, endpoint):
    environment = {"OPENAI_API_KEY": SECRET}
    run = warpgym("ask", "--policy", endpoint.url, "x", environment=environment)
    assert run.status == PASSED and endpoint.headers[-1]["Authorization"] == f"Bearer {SECRET}"
    run = warpgym("ask", "-p", endpoint.url, "-s", "policy.token=own-token", "x",
                  environment=environment)  # fmt: skip
    assert endpoint.headers[-1]["Authorization"] == "Bearer own-token"
    # Not to another machine in the clear: this proxy sees what would have gone there.
    proxy = endpoint.url.removesuffix("/v1")
    run = warpgym("ask", "-p", "http://gpu.example/v1", "-m", "m", "x", "-s", "policy.attempts=1",
                  environment=environment | {"http_proxy": proxy})  # fmt: skip
    assert run.status == USAGE and SECRET not in str(endpoint.headers[2:])
    shown = warpgym("config", "show", environment={"WARPGYM_POLICY_TOKEN": SECRET})
    assert SECRET not in shown.out and "token: not shown" in shown.out


@pytest.mark.parametrize(("arguments", "words"), [
    (["x", "-p", "ftp://host"], "unknown policy 'ftp://host'"),
    (["x", "-p", "http://user:pass@host/v1"], "policy.token"),
    (["x", "-p", "http://host/v1?a=b"], "has a query"),
    (["x"], "no policy is set"),
    (["-p", "http://127.0.0.1:1/v1"], "give the message"),
    (["a", "b"], "one message"),
    (["--check", "x"], "has its own"),
    (["x", "-p", "http://h/v1", "-m", "m", "-s", "policy.extra=[1]"], "is a list"),
    (["x", "-p", "http://h/v1", "-m", "m", "-s", "policy.extra={x"], "is not a JSON object"),
    (["x", "-p", "http://h/v1", "-m", "m", "-s", 'policy.extra={"stream": 1}'], "policy.stream"),
    (["x", "-s", "policy.max_tokens_key=tokens"], "max_completion_tokens"),
])  # fmt: skip
def test_slips(warpgym, arguments, words):
    warpgym.refused(words, "ask", *arguments)


def test_no_server(warpgym):
    run = warpgym("ask", "-p", "http://127.0.0.1:1/v1", "-m", "m", "x",
                  "-s", "policy.backoff_ms=1ms", "-s", "policy.retry_budget_ms=100ms")  # fmt: skip
    assert run.status == INFRASTRUCTURE and "http://127.0.0.1:1/v1: " in run.complaint


# --- scripts -------------------------------------------------------------------------------------


def test_script(warpgym):
    folder = warpgym.folder / "script"
    (folder / "answers").mkdir(parents=True)
    (folder / "answers" / "0.md").write_text("from a file")
    (warpgym.folder / "outside.md").write_text("outside")
    (folder / "answers" / "link.md").symlink_to(warpgym.folder / "outside.md")
    script = folder / "script.jsonl"

    def line(**fields):
        return {"problem": "softmax", "turn": 0} | fields

    def answer(lines, *arguments):
        script.write_text("\n".join(map(json.dumps, lines)))
        return warpgym("ask", "-p", f"scripted:{script}", "--problem", "softmax", *arguments, "x")

    lines = [line(answer={"file": "answers/0.md"}), line(turn=2, answer="two", delay_ms=5)]
    for turn, text in enumerate(["from a file", "from a file", "two", "two"]):
        run = answer(lines, "--turn", turn)
        assert (run.status, run.out) == (PASSED, text + "\n"), run
    for file, words in (
        ("../outside.md", "not below"), ("/etc/passwd", "not below"), ("answers/link.md", "link"),
        ("answers/none.md", "does not exist"), ("answers", "answers"),
    ):  # fmt: skip
        run = answer([line(answer={"file": file})])
        assert run.status in (USAGE, INFRASTRUCTURE) and words in run.complaint, run
        assert run.out == "" and "script.jsonl:1" in run.complaint
    assert answer([line(turn=1, answer="later")]).status == USAGE


@pytest.mark.parametrize("host", ["localhost.example", "127.example", "localhost", "127.0.0.1"])
def test_token_of_the_environment_stays_near(warpgym, host):
    """Unencrypted it goes to this machine alone, whatever others are called."""
    near = "example" not in host
    seen = []

    def serve(listener):
        connection, _ = listener.accept()
        with connection:
            while b"\r\n\r\n" not in b"".join(seen):
                seen.append(connection.recv(65536))
            connection.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        thread = threading.Thread(target=serve, args=(listener,), daemon=True)
        thread.start()
        environment = {"OPENAI_API_KEY": SECRET, "http_proxy": f"http://127.0.0.1:{port}"}
        url = f"http://{host}:{port}/v1"
        run = warpgym("ask", "--policy", url, "-m", "m", "-s", "policy.attempts=1", "hello",
                      environment=environment)  # fmt: skip
        thread.join(10)
    assert run.status == USAGE and b"/v1/chat/completions" in b"".join(seen)
    assert (SECRET.encode() in b"".join(seen)) == near


def test_token_that_comes_back(ask, endpoint):
    """In what is no JSON, too."""
    endpoint.plan = [events('data: [1 "abcdefghijkl"]\n\n')]
    run = ask(settings=["policy.token=abcdefghijkl", "policy.attempts=1"])
    assert run.status == INFRASTRUCTURE and "[token]" in run.err, run
    assert "abcdefghijkl" not in run.err
