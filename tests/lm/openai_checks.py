"""`warpgym lm serve` with the client that OpenAI ships, on a tiny model of random weights."""

import concurrent.futures
import json
import math
import os
import re
import signal
import socket
import subprocess
import time
from pathlib import Path

import httpx
import openai
import pytest
import tokenizers

ROOT = Path(__file__).resolve().parents[2]
WARPGYM = os.environ.get("TEST_WARPGYM", str(ROOT / "warpgym"))
TOKEN = "s3cret"
POSITIONS = 512
VOCAB = 400
CHAT = [{"role": "user", "content": "Say something."}]
CHAT_TEXT = "<|im_start|>user\nSay something.<|im_end|>\n<|im_start|>assistant\n"
CONFIG = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "vocab_size": VOCAB,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": POSITIONS,
    "rms_norm_eps": 1e-6,
    "rope_theta": 10000.0,
    "hidden_act": "silu",
    "tie_word_embeddings": True,
    "initializer_range": 0.3,
    "eos_token_id": VOCAB - 3,
}


class Served:
    def __init__(self, directory, *options, token=TOKEN):
        command = [WARPGYM, "lm", "serve", directory, "--listen", "127.0.0.1:0", "--threads", "1"]
        if token:
            command += ["-s", f"server.token={token}"]
        self.process = subprocess.Popen(
            [*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        line = self.process.stdout.readline()
        found = re.fullmatch(r"warpgym: serving (\S+) at (\S+)\n", line)
        assert found, line + self.process.stderr.read()
        self.name, self.url = found[1], found[2]
        self.client = openai.OpenAI(base_url=self.url, api_key=token or "none", max_retries=0)
        self.http = httpx.Client(headers={"Authorization": f"Bearer {token}"}, timeout=60)

    def post(self, path, **how):
        return self.http.post(self.url + path, **how)

    def health(self):
        return self.http.get(self.url.removesuffix("/v1") + "/health").json()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(60) == 0
        return self.process.stderr.read()


def make_model(directory, config):
    """Random weights, and a tokenizer of our own README."""
    file = directory.parent / "config.json"
    file.write_text(json.dumps(config))
    for command in (
        ["convert", "--fresh", file, "--seed", "3", directory],
        ["tokenizer", "--vocab", str(VOCAB), "-o", directory, ROOT / "README.md"],
    ):
        subprocess.run([WARPGYM, "lm", *command], check=True, capture_output=True, timeout=60)


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    made = tmp_path_factory.mktemp("served") / "tiny"
    make_model(made, CONFIG)
    return made


@pytest.fixture(scope="module")
def served(directory):
    server = Served(directory)
    yield server
    server.stop()


@pytest.fixture(scope="module")
def tokenizer(directory):
    return tokenizers.Tokenizer.from_file(str(directory / "tokenizer.json"))


def chat(served, extra_body=None, **more):
    """An answer of 24 tokens, whatever is drawn."""
    settings = {"model": "tiny", "messages": CHAT, "max_tokens": 24, "seed": 5} | more
    settings["extra_body"] = {"ignore_eos": True} | (extra_body or {})
    return served.client.chat.completions.create(**settings)


def complete(served, extra_body=None, **more):
    settings = {"model": "tiny", "prompt": "warpgym is", "max_tokens": 24, "seed": 5} | more
    settings["extra_body"] = {"ignore_eos": True} | (extra_body or {})
    return served.client.completions.create(**settings)


def test_models(served):
    (model,) = served.client.models.list().data
    assert (model.id, model.owned_by, model.max_model_len) == ("tiny", "warpgym", POSITIONS)
    assert served.client.models.retrieve("tiny") == model
    with pytest.raises(openai.NotFoundError):
        served.client.models.retrieve("other")


def as_json(text):
    """What tests/lm learns tokenizers from may make a token of NUL, which is U+FFFD in JSON."""
    return text.replace("\0", "\ufffd")


def test_chat(served, tokenizer):
    answer = chat(served, extra_body={"return_token_ids": True}, logprobs=True)
    (choice,) = answer.choices
    prompt = tokenizer.encode(CHAT_TEXT).ids
    assert answer.prompt_token_ids == prompt
    assert answer.id.startswith("chatcmpl-")
    assert (answer.object, answer.model) == ("chat.completion", "tiny")
    assert (choice.index, choice.message.role, choice.finish_reason) == (0, "assistant", "length")
    text = tokenizer.decode(choice.token_ids, skip_special_tokens=True)
    assert choice.message.content == as_json(text)
    assert len(choice.token_ids) == 24
    usage = answer.usage
    assert (usage.prompt_tokens, usage.completion_tokens) == (len(prompt), 24)
    assert usage.total_tokens == len(prompt) + 24


def test_seeds(served):
    texts = [chat(served, seed=seed).choices[0].message.content for seed in (5, 5, 6)]
    assert texts[0] == texts[1] != texts[2]
    drawn = {chat(served, seed=openai.omit).choices[0].message.content for _ in range(3)}
    assert len(drawn) == 3
    greedy = {chat(served, seed=seed, temperature=0).choices[0].message.content for seed in (1, 2)}
    assert len(greedy) == 1


def test_samples(served):
    several = chat(served, n=3)
    assert [choice.index for choice in several.choices] == [0, 1, 2]
    assert len({choice.message.content for choice in several.choices}) == 3
    assert several.usage.completion_tokens == 72
    assert several.choices[0].message.content == chat(served).choices[0].message.content


def test_narrow_distributions_are_greedy(served):
    greedy = chat(served, temperature=0).choices[0].message.content
    for body in ({"top_k": 1}, {"min_p": 1}, {"top_p": 1e-6}):
        assert chat(served, extra_body=body).choices[0].message.content == greedy
    assert chat(served, extra_body={"top_k": -1}).choices[0].message.content != greedy


def test_chat_logprobs(served, tokenizer):
    body = {"return_token_ids": True}
    (choice,) = chat(served, logprobs=True, top_logprobs=3, extra_body=body).choices
    content = choice.logprobs.content
    assert len(content) == 24
    for token, token_id in zip(content, choice.token_ids, strict=True):
        text = bytes(token.bytes)
        decoded = tokenizer.decode([token_id], skip_special_tokens=False)
        assert decoded == text.decode(errors="replace")
        partial = "bytes:" + "".join(f"\\x{byte:02x}" for byte in text)
        is_text = not {"\ufffd", "\0"} & set(text.decode(errors="replace"))
        assert token.token == (text.decode() if is_text else partial)
        top = [one.logprob for one in token.top_logprobs]
        assert len(top) == 3
        assert sorted(top, reverse=True) == top
        assert token.logprob <= top[0] <= 0
    said = [token for token in content if not token.token.startswith("<|")]
    whole = b"".join(bytes(token.bytes) for token in said)
    assert as_json(whole.decode(errors="replace")) == choice.message.content
    assert chat(served).choices[0].logprobs is None


def test_completion_logprobs_are_those_of_scoring(served):
    body = {"return_token_ids": True}
    (drawn,) = complete(served, logprobs=2, extra_body=body, echo=True).choices
    prompt = len(drawn.logprobs.tokens) - 24
    (scored,) = complete(
        served,
        prompt=complete(served, extra_body=body).prompt_token_ids + drawn.token_ids,
        max_tokens=0,
        echo=True,
        logprobs=2,
    ).choices
    assert drawn.logprobs.token_logprobs[0] is None
    assert drawn.logprobs.top_logprobs[0] is None
    assert drawn.text.startswith("warpgym is")
    assert scored.logprobs.tokens == drawn.logprobs.tokens
    for choice in (drawn, scored):
        offsets = choice.logprobs.text_offset
        assert offsets == sorted(offsets)
        for token, offset in zip(choice.logprobs.tokens, offsets, strict=True):
            special = token.startswith(("bytes:", "<|"))
            # What the token before left unfinished shows with this one.
            assert special or choice.text[offset:].lstrip("\ufffd").startswith(token.lstrip("\ufffd"))
    pairs = zip(drawn.logprobs.token_logprobs, scored.logprobs.token_logprobs, strict=True)
    assert all(math.isclose(a, b, abs_tol=1e-4) for a, b in list(pairs)[1:])
    for text, top in zip(drawn.logprobs.tokens[prompt:], drawn.logprobs.top_logprobs[prompt:]):
        assert text in top
        assert len(top) in (2, 3)


def test_prompts_of_all_kinds(served, tokenizer):
    text = "warpgym is"
    ids = tokenizer.encode(text).ids
    one = complete(served).choices[0].text
    assert complete(served, prompt=ids).choices[0].text == one
    assert [c.text for c in complete(served, prompt=[text, text]).choices] == [one, one]
    several = complete(served, prompt=[ids, ids[:1]], n=2)
    assert [choice.index for choice in several.choices] == [0, 1, 2, 3]
    assert several.choices[0].text == one
    assert several.usage.prompt_tokens == len(ids) + 1
    assert complete(served, max_tokens=openai.omit).usage.completion_tokens == 16


def test_stops(served):
    text = complete(served, max_tokens=60).choices[0].text
    stop = text[20:23]
    short = complete(served, max_tokens=60, stop=["never there", stop]).choices[0]
    assert short.text == text[: text.index(stop)]
    assert short.finish_reason == "stop"
    streamed = complete(served, max_tokens=60, stop=stop, stream=True)
    assert "".join(chunk.choices[0].text for chunk in streamed) == short.text
    body = {"return_token_ids": True}
    ids = complete(served, extra_body=body).choices[0].token_ids
    ended = complete(served, extra_body=body | {"stop_token_ids": [ids[9]]}).choices[0]
    assert ended.token_ids == ids[: ids.index(ids[9]) + 1]
    assert ended.finish_reason == "stop"


def test_a_turn_ends_an_answer(served, tokenizer):
    """The model's config knows the end of a text alone."""
    ends = [tokenizer.token_to_id(text) for text in ("<|endoftext|>", "<|im_end|>")]
    body = {"ignore_eos": False, "return_token_ids": True}
    answer = chat(served, n=64, max_tokens=200, temperature=3, extra_body=body)
    seen = set()
    for choice in answer.choices:
        assert not set(choice.token_ids[:-1]) & set(ends)
        assert (choice.finish_reason == "stop") == (choice.token_ids[-1] in ends)
        seen.add(choice.token_ids[-1])
        assert "<|im_end|>" not in choice.message.content
    assert seen >= set(ends)


@pytest.mark.parametrize("samples", [1, 3])
def test_streamed_chat_is_the_same(samples, served):
    options = {"n": samples, "logprobs": True, "top_logprobs": 1}
    whole = chat(served, **options)
    texts, tokens, finish = ["" for _ in range(samples)], [[] for _ in range(samples)], {}
    chunks = list(chat(served, **options, stream=True, stream_options={"include_usage": True}))
    first = set()
    for chunk in chunks[:-1]:
        assert (chunk.object, chunk.usage) == ("chat.completion.chunk", None)
        (choice,) = chunk.choices
        assert (choice.delta.role == "assistant") == (choice.index not in first)
        first.add(choice.index)
        texts[choice.index] += choice.delta.content or ""
        tokens[choice.index] += choice.logprobs.content
        if choice.finish_reason:
            assert choice.index not in finish
            finish[choice.index] = choice.finish_reason
    assert len(chunks) > 1
    assert len({chunk.id for chunk in chunks}) == 1
    assert (chunks[-1].choices, chunks[-1].usage) == ([], whole.usage)
    assert texts == [choice.message.content for choice in whole.choices]
    assert tokens == [choice.logprobs.content for choice in whole.choices]
    assert finish == {i: "length" for i in range(samples)}


def test_streamed_completion_is_the_same(served):
    options = {"prompt": ["warpgym is", "a kernel"], "logprobs": 1, "echo": True}
    whole = complete(served, **options)
    texts, tokens, offsets = ["", ""], [[], []], [[], []]
    for chunk in complete(served, **options, stream=True):
        (choice,) = chunk.choices
        texts[choice.index] += choice.text
        tokens[choice.index] += choice.logprobs.tokens
        offsets[choice.index] += choice.logprobs.text_offset
    assert texts == [choice.text for choice in whole.choices]
    assert tokens == [choice.logprobs.tokens for choice in whole.choices]
    assert offsets == [choice.logprobs.text_offset for choice in whole.choices]


def test_the_wire_ends_in_done(served):
    body = {"model": "tiny", "prompt": "a", "stream": True, "max_tokens": 2}
    answer = served.post("/completions", json=body)
    assert answer.headers["content-type"] == "text/event-stream"
    events = [line for line in answer.text.split("\n\n") if line.startswith("data: ")]
    assert events[-1] == "data: [DONE]"
    assert all(json.loads(event[6:])["choices"] for event in events[:-1])


def test_many_at_once(served):
    def ask(seed):
        return chat(served, seed=seed).choices[0].message.content

    alone = [ask(seed) for seed in range(20)]
    with concurrent.futures.ThreadPoolExecutor(20) as threads:
        assert list(threads.map(ask, range(20))) == alone


REFUSED = [
    ("chat/completions", {"messages": CHAT, "model": "gpt"}, 404, "model", "no model"),
    ("chat/completions", {"model": "tiny"}, 400, "messages", "is missing"),
    ("chat/completions", {"messages": []}, 400, "messages", "at least one"),
    ("chat/completions", {"messages": "hi"}, 400, "messages", "no list"),
    ("chat/completions", {"messages": [{"role": "user"}]}, 400, "messages", "content"),
    ("chat/completions", {"messages": CHAT, "temperature": "hot"}, 400, "temperature", "number"),
    ("chat/completions", {"messages": CHAT, "max_tokens": 600}, 400, None, "512 tokens in all"),
    ("chat/completions", {"messages": CHAT, "prompt": "a"}, 400, "prompt", "unknown parameter"),
    ("completions", {"prompt": "a" * 3000}, 400, None, "512 tokens in all"),
    ("completions", {"prompt": ""}, 400, None, "the prompt is empty"),
    ("completions", {"prompt": [VOCAB]}, 400, None, str(VOCAB)),
    (
        "completions",
        {"prompt": "a", "max_tokens": 400, "n": 512, "logprobs": 20},
        400,
        None,
        "4300800 log-probabilities",
    ),
    ("completions", {"prompt": "a", "temprature": 1}, 400, "temprature", "did you mean"),
]


@pytest.mark.parametrize(("path", "body", "status", "param", "said"), REFUSED)
def test_refused(path, body, status, param, said, served):
    for stream in ({}, {"stream": True}):
        answer = served.post(f"/{path}", json=body | stream)
        assert answer.status_code == status
        error = answer.json()["error"]
        assert error["type"] == "invalid_request_error"
        assert error["param"] == param
        assert said in error["message"]
        assert error["code"]


@pytest.mark.parametrize(
    ("content", "status"), [(b"{", 400), (b"[]", 400), (b"null", 400), (b"\xff", 400), (b"", 400)]
)
def test_what_is_no_request(content, status, served):
    headers = {"Content-Type": "application/json"}
    answer = served.post("/chat/completions", content=content, headers=headers)
    assert answer.status_code == status
    assert answer.json()["error"]["message"]


def test_refused_by_the_layer_in_the_same_words(served):
    for answer, status, kind in (
        (httpx.post(served.url + "/completions", json={}), 401, "authentication_error"),
        (served.http.get(served.url + "/nothing"), 404, "invalid_request_error"),
        (served.http.get(served.url + "/completions"), 405, "invalid_request_error"),
    ):
        assert answer.status_code == status
        assert answer.json()["error"]["type"] == kind
    with pytest.raises(openai.AuthenticationError):
        openai.OpenAI(base_url=served.url, api_key="wrong", max_retries=0).models.list()
    with pytest.raises(openai.BadRequestError, match="'n': must be a whole number"):
        chat(served, n=0)


def wait_until(condition):
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_who_goes_away_is_cancelled(directory):
    """One place, and a first answer that would take it for long."""
    server = Served(directory, "--sequences", "1", "--queue", "1000")
    many = {"n": 500, "max_tokens": 480}
    stream = complete(server, **many, stream=True)
    next(iter(stream))
    body = {"prompt": "a", "ignore_eos": True, **many}
    raw = json.dumps(body).encode()
    place = server.url.split("/")[2]
    head = f"POST /v1/completions HTTP/1.1\r\nHost: {place}\r\nAuthorization: Bearer {TOKEN}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(raw)}\r\n\r\n"
    host, port = place.split(":")
    with socket.create_connection((host, int(port))) as plain:
        plain.sendall(head.encode() + raw)
        wait_until(lambda: server.health()["waiting"] > many["n"])
        stream.close()
    wait_until(lambda: server.health()["running"] + server.health()["waiting"] == 0)
    assert server.health()["tokens"] < many["n"] * many["max_tokens"]
    assert len(complete(server).choices[0].text) > 0
    server.stop()


def test_a_full_queue(directory):
    server = Served(directory, "--queue", "2", "--sequences", "1")
    refused = server.post("/completions", json={"prompt": "a", "n": 3})
    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) >= 1
    assert refused.json()["error"]["type"] == "rate_limit_error"
    assert len(complete(server, n=2).choices) == 2  # what was refused takes no room
    server.stop()


def test_answers_end_before_the_server_does(directory):
    server = Served(directory, token=None)
    stream = complete(server, max_tokens=400, stream=True)
    chunks = iter(stream)
    next(chunks)
    server.process.send_signal(signal.SIGTERM)
    rest = list(chunks)
    assert rest[-1].choices[0].finish_reason == "length"
    assert server.process.wait(60) == 0


def test_a_drain_that_takes_too_long_cancels(directory):
    server = Served(directory, "--drain", "0", "--sequences", "1", token=None)
    stream = complete(server, n=64, max_tokens=500, stream=True)
    chunks = iter(stream)
    next(chunks)
    server.process.send_signal(signal.SIGTERM)
    with pytest.raises((openai.APIError, httpx.HTTPError, StopIteration)):
        while True:
            next(chunks)
    assert server.process.wait(60) == 0


def test_our_own_client(served, tmp_path):
    environment = dict(os.environ, HOME=str(tmp_path), WARPGYM_POLICY_TOKEN=TOKEN)
    command = [WARPGYM, "ask", "--policy", served.url, "--json", "Say something."]
    for stream in ("true", "false"):
        settings = ["-s", f"policy.stream={stream}", "-s", "policy.max_tokens=12"]
        run = subprocess.run(
            [*command, *settings, "-s", "policy.logprobs=true"],
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert run.returncode == 0, run.stderr
        answer = json.loads(run.stdout)
        assert answer["text"]
        assert answer["model"] == "tiny"
