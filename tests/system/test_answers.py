"""What a model writes is judged, whatever its bytes are, at every place where an answer enters: as
text, with U+FFFD for what is none, or as an answer without code. Never refused, never the end."""

import asyncio
import json
import random
import sys

import pytest
import serving
import support
from fake_openai import FakeOpenAI, events
from test_mcp import Stdio, submission

sys.path.insert(0, str(support.CHECKOUT / "python"))

from warpgym import verl  # noqa: E402
from warpgym.client import Client  # noqa: E402
from warpgym.client.requests import as_text  # noqa: E402
from warpgym.env import WarpgymEnv  # noqa: E402
from warpgym.episodes import AsyncConversation, Conversation  # noqa: E402

SOURCE = """/* @ */
#include <stddef.h>
void solution(const float *x, float *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] > 0 ? x[i] : 0;
}
"""
FENCED = "Here it is: @\n```c\n" + SOURCE + "```\n"
REFERENCE = """import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)


def get_inputs():
    return [torch.randn(8, 8)]


def get_init_inputs():
    return []
"""
MODULE = REFERENCE.replace("class Model", "# @\nclass ModelNew")
# What a model may write, as the inside of a JSON string; how often U+FFFD stands there then.
ODD = {
    "NUL": (rb"\u0000", 1),
    "half a pair": (rb"\ud800", 1),
    "a pair the wrong way round": (rb"\udc00\ud800", 2),
    "no UTF-8": (b"\xff\xfe", 2),
    "an overlong form": (b"\xc0\x80", 2),
    "a surrogate in UTF-8": (b"\xed\xa0\x80", 3),
    "a character cut short": (b"\xe2\x82", 2),
    "control characters": (rb"\u0001\u001b\u007f\u202e", 0),
    "a mark of byte order": (b"\xef\xbb\xbf", 0),
    "a pair": (rb"\ud83d\ude00", 0),
}
LONG = "all work and no play, " * 200_000
SOURCE_BYTES, ANSWER_BYTES = 1 << 20, 4 << 20
JUDGING = ("--set", "timing.budget_ms=1", "--set", "check.trials=1")


def inside(text, odd):
    """`text` as a JSON string, in bytes, with the odd thing in the place of its @."""
    return json.dumps(text).encode().replace(b"@", odd)


def written(odd):
    """The odd thing as Python has it: half a pair is a character, other bytes are bytes."""
    return odd if max(odd) >= 0x80 else json.loads(b'"' + odd + b'"')


def replaced(findings):
    return sum(int(one["evidence"].split(" times U+FFFD")[0].split()[-1])
               for one in findings if one["code"] == "text")  # fmt: skip


@pytest.fixture(scope="module")
def server(module_warpgym):
    running = serving.Server(module_warpgym, "--workers", "1", *JUDGING)
    support.wait_until(lambda: running.get("/v1/workers").json["workers"], "a worker")
    yield running
    assert running.stop() == 0


@pytest.fixture(scope="module")
def gym(server):
    with Client(server.url) as client:
        yield client


def evaluated(server, source):
    answer = server.post(
        "/v1/evaluations?wait_s=60",
        b'{"problem": {"id": "relu"}, "candidate": {"source": ' + source + b', "language": "c"}}',
    )
    assert answer.status == 200, answer
    return answer.json["verdict"]


@pytest.mark.parametrize("name", ODD)
def test_evaluation(server, name):
    odd, count = ODD[name]
    verdict = evaluated(server, inside(SOURCE, odd))
    assert verdict["status"] == "passed", verdict["error"]
    assert replaced(verdict["integrity"]["warnings"]) == count


@pytest.mark.parametrize("name", ODD)
def test_evaluation_of_what_is_odd_in_code(server, name):
    odd, count = ODD[name]
    verdict = evaluated(server, inside(SOURCE.replace("    for", "@    for"), odd))
    assert verdict["status"] in ("compile_error", "passed"), verdict
    assert replaced(verdict["integrity"]["warnings"]) == 2 * count


def test_evaluation_at_the_ends(server):
    assert evaluated(server, b'""')["status"] == "compile_error"
    assert evaluated(server, json.dumps("\ufeff" + SOURCE).encode())["status"] == "passed"
    crlf = evaluated(server, json.dumps(SOURCE.replace("\n", "\r\n")).encode())
    assert crlf["status"] == "passed" and not crlf["integrity"]["warnings"]
    long = evaluated(server, json.dumps(LONG).encode())
    assert long["status"] == "compile_error" and str(SOURCE_BYTES) in long["error"]["message"]


@pytest.mark.parametrize("name", ODD)
def test_kernelgym(server, name):
    body = json.dumps({"task_id": f"k {name}", "reference_code": REFERENCE, "timeout": 60}).encode()
    body = body[:-1] + b', "kernel_code": ' + inside(MODULE, ODD[name][0]) + b"}"
    answer = server.post("/evaluate", body)
    assert answer.status == 200 and answer.json["correctness"] is True, answer
    assert replaced(answer.json["metadata"]["integrity"]["warnings"]) == ODD[name][1]


@pytest.mark.parametrize("code", ["", "short", "\0", LONG, "x" * 100_001], ids=len)
def test_kernelgym_of_any_length(server, code):
    body = {"task_id": f"length {len(code)}", "kernel_code": code, "reference_code": REFERENCE}
    answer = server.post("/evaluate", body)
    assert answer.status == 200 and answer.json["status"] == "failed", answer
    assert "characters" in answer.json["error_message"] and answer.json["compiled"] is False


@pytest.mark.parametrize("name", ODD)
def test_episode(server, gym, name):
    odd, count = ODD[name]
    for text, wanted in ((FENCED, "passed"), ("No code, @ only.", "no_code")):
        episode = gym.create_episode("relu", turns=1)
        body = b'{"turn": 0, "answer": ' + inside(text, odd) + b', "reasoning": "' + odd + b'"}'
        for _ in range(2):  # sent again, it is the same answer
            answer = server.post(f"/v1/episodes/{episode.id}/step?wait_s=60", body)
            assert answer.status == 200, answer
            assert answer.json["step"]["status"] == wanted
        assert (f"{count} times U+FFFD" in answer.json["step"]["feedback"]) is (count > 0)


def python_step(way, url, answer):
    """The status of the only turn, by each of our adapters."""
    if way == "conversation":
        with Conversation(url, turns=1) as one:
            one.reset("relu")
            return one.step(answer, reasoning=answer).step
    if way == "async":

        async def steps():
            async with AsyncConversation(url, turns=1) as one:
                await one.reset("relu")
                return (await one.step(answer)).step

        return asyncio.run(steps())
    if way == "gymnasium":
        env = WarpgymEnv(url, problems=["relu"], turns=1)
        env.reset(seed=1)
        env.step(answer)
        step = env.episode.step
        env.close()
        return step
    return verl.compute_score("data", answer, "relu", url=url, error_score=None)


@pytest.mark.parametrize("way", ["conversation", "async", "gymnasium", "verl"])
def test_python(server, way):
    """The client and its adapters, given what a tokenizer may make."""
    texts = {name: as_text(FENCED.encode().replace(b"@", odd) if max(odd) >= 0x80 else
                           FENCED.replace("@", written(odd)))
             for name, (odd, _) in ODD.items()}  # fmt: skip
    assert all(text.encode() for text in texts.values())
    for odd, _ in ODD.values():
        whole = written(odd)
        text = (FENCED.encode().replace(b"@", whole) if isinstance(whole, bytes)
                else FENCED.replace("@", whole))  # fmt: skip
        step = python_step(way, server.url, text)
        assert (step["status"] if way == "verl" else step.status) == "passed"
    ends = ["", None, "\0" * 5_000_000, "\x01" * 5_000_000, "\U0001f600" * 3_000_000, LONG]
    for text in ends:
        step = python_step(way, server.url, text)
        assert (step["status"] if way == "verl" else step.status) == "no_code"


def test_an_answer_that_is_too_long(server, gym):
    """What is beyond the bound is left out, and the feedback says so."""
    for behind in (LONG, LONG.replace("work", "\ud800")):
        episode = gym.create_episode("relu", turns=2)
        for _ in range(2):
            body = {"turn": 0, "answer": FENCED + behind}
            answer = server.post(f"/v1/episodes/{episode.id}/step?wait_s=60", body)
            assert answer.status == 200, answer
            assert answer.json["step"]["status"] == "passed"
            assert f"its first {ANSWER_BYTES} bytes" in answer.json["step"]["feedback"]
    episode = gym.create_episode("relu", turns=1)
    long = gym.step_episode(episode.id, 0, f"```c\n/* {LONG[:2_000_000]} */\n{SOURCE}```\n")
    assert long.step.status == "no_code"
    assert f"more than {SOURCE_BYTES} bytes" in long.step.feedback


def test_answers_that_no_episode_can_keep(server, gym):
    """The episode ends with that turn: the trainer gets its reward, and no error."""
    episode = gym.create_episode("relu", turns=8)
    for turn in range(8):
        step = gym.step_episode(episode.id, turn, LONG, reasoning=LONG)
        assert step.step.status == "no_code" and step.step.reward == 0
        again = gym.step_episode(episode.id, turn, LONG, reasoning=LONG)
        assert again.step == step.step
        if step.done:
            break
    assert step.done and step.turn < 8 and step.end == "budget"


def test_batch_lines(module_warpgym, tmp_path):
    """Both forms of a line, and files of any bytes."""
    lines = [b'{"problem": "relu", "source": ' + inside(SOURCE, odd) + b"}"
             for odd, _ in ODD.values()]  # fmt: skip
    lines += [
        b'{"problem": {"id": "relu"}, "candidate": {"source": ' + inside(SOURCE, odd) + b"}}"
        for odd, _ in ODD.values()
    ]
    lines += [b'{"problem": "relu", "source": ""}']
    lines += [b'{"problem": "relu", "source": ' + json.dumps(LONG * 3).encode() + b"}"]
    batch = tmp_path / "answers.jsonl"
    batch.write_bytes(b"\n".join(lines) + b"\n")
    run = module_warpgym.eval("--no-timing", batch)
    assert run.err == "", run.err
    assert support.statuses(run.verdicts) == ["passed"] * 2 * len(ODD) + ["compile_error"] * 2
    counts = [replaced(one["integrity"]["warnings"]) for one in run.verdicts[: len(ODD)]]
    assert counts == [count for _, count in ODD.values()]
    file = tmp_path / "latin.c"
    file.write_bytes(SOURCE.replace("@", "\xfcber\0").encode("latin-1"))
    verdict = module_warpgym.eval("--no-timing", "-p", "relu", file).verdict
    assert verdict["status"] == "passed" and replaced(verdict["integrity"]["warnings"]) == 2


def rollout(warpgym, endpoint, folder, stream):
    """The turns, one of each answer: none is asked for again."""
    count = len(endpoint.plan)
    run = warpgym(
        "rollout", "--policy", endpoint.url, "--out", folder / "run", "--samples", count, "--jobs",
        1, "--no-timing", "-s", "gym.turns=1", "-s", f"policy.stream={stream}", "-s",
        "check.trials=1", "relu",
    )  # fmt: skip
    assert run.status == support.PASSED, run
    assert len(endpoint.questions) == count
    found = support.read_lines(folder / "run" / "trajectories.jsonl")
    return [one["turns"][0] for one in found]


def answered(text, odd):
    """A whole answer of an endpoint, and the same as a stream."""
    content = inside(text, odd)
    whole = b'{"choices": [{"message": {"content": ' + content + b'}, "finish_reason": "stop"}]}'
    event = b'data: {"choices": [{"delta": {"content": ' + content + b"}}]}\n\n"

    def step(handler, body):
        if body.get("stream"):
            return events(event, b"data: [DONE]\n\n")(handler, body)
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(whole)))
        handler.end_headers()
        return handler.wfile.write(whole)

    return step


@pytest.mark.parametrize("stream", ["true", "false"])
def test_policy(module_warpgym, tmp_path, stream):
    """One such byte ended three of twenty episodes; each question is asked once."""
    kinds = [odd for odd, _ in ODD.values()]
    with FakeOpenAI() as endpoint:
        endpoint.plan = [answered(FENCED, odd) for odd in kinds]
        endpoint.plan += [answered("", b""), answered(LONG * 2, b"")]
        turns = rollout(module_warpgym, endpoint, tmp_path, stream)
    statuses = sorted(turn["status"] for turn in turns)
    assert statuses == ["no_code"] * 2 + ["passed"] * len(kinds)


def submit(stdio, text, odd=b""):
    line = json.dumps(submission("s", "%")).encode().replace(b'"%"', inside(text, odd))
    stdio.process.stdin.write(line + b"\n")
    stdio.process.stdin.flush()
    return stdio.receive()["result"]


def test_mcp(module_warpgym):
    """Sources of any bytes, and the form that the task asks for."""
    stdio = Stdio(module_warpgym).begin()

    def judged(text, odd=b""):
        return submit(stdio, text, odd)["structuredContent"]

    for odd, count in ODD.values():
        found = judged(SOURCE, odd)
        assert found["status"] == "passed"
        assert (f"{count} times U+FFFD" in found["feedback"]) is (count > 0)
    clean = SOURCE.replace("@", "")
    fence = "```c\n" + clean + "```"
    forms = [
        clean,
        fence,
        f"<KERNEL>\n{fence}\n</KERNEL>",
        f"Now it is fast.\n<KERNEL>\n{fence}\n</KERNEL>",
        f"<think>```c\nvoid solution(int) {{}}\n```</think>\n{fence}\nThat is all.",
        f"\ufeff<KERNEL>\r\n{fence}\r\n</KERNEL>".replace("\n", "\r\n"),
        clean.replace("/*  */", "/*\n```c\nvoid solution(int old) {}\n```\n*/"),
    ]
    for form in forms:
        assert judged(form)["status"] == "passed", form
    assert judged("")["status"] == "no_code"
    long = judged(LONG)
    assert long["status"] == "no_code" and str(SOURCE_BYTES) in long["feedback"]
    assert judged(clean)["status"] == "passed" and not stdio.end()


def drawn(seed):
    """Forty strings of odd things and of what a parser looks for, as insides of JSON strings."""
    draw = random.Random(seed)
    pieces = [odd for odd, _ in ODD.values()]
    pieces += [b"<think>", b"</think>", b"<KERNEL>", b"</KERNEL>", b"```", rb"\n", b"{", b"c"]
    return [b"".join(draw.choices(pieces, k=draw.randint(0, 40))) for _ in range(40)]


def test_whatever_it_is(server, gym):
    """At each route, and at the Python client: an answer has a verdict or a turn."""
    for i, odd in enumerate(drawn(4)):
        text = b'"' + odd + b'"'
        assert evaluated(server, text)["status"] == "compile_error"
        body = {"task_id": f"fuzz {i}", "reference_code": REFERENCE}
        whole = json.dumps(body).encode()[:-1] + b', "kernel_code": ' + text + b"}"
        assert server.post("/evaluate", whole).status == 200
        episode = gym.create_episode("relu", turns=2)
        step = b'{"turn": 0, "answer": ' + text + b"}"
        answer = server.post(f"/v1/episodes/{episode.id}/step?wait_s=60", step)
        assert answer.status == 200, answer
        assert answer.json["step"]["status"] in ("no_code", "compile_error")
        for form in (odd, odd.decode("utf-8", "surrogateescape")):
            assert as_text(form) == as_text(as_text(form))
        step = gym.step_episode(episode.id, 1, odd)
        assert step.done and step.step.status in ("no_code", "compile_error")


def test_whatever_it_is_at_mcp(module_warpgym):
    """Turns, but for a source that holds the tags of an answer: an error that says so."""
    stdio = Stdio(module_warpgym).begin()
    for odd in drawn(5):
        result = submit(stdio, "@", odd)
        said = result["content"][0]["text"]
        assert "structuredContent" in result or "remove what looks like <think>" in said, result
    assert not stdio.end()


def test_whatever_it_is_of_an_endpoint(module_warpgym, tmp_path):
    with FakeOpenAI() as endpoint:
        endpoint.plan = [answered("@", odd) for odd in drawn(6)]
        rollout(module_warpgym, endpoint, tmp_path, "true")
