"""Sampling by our engine against Transformers and PEFT, on models of the three families that are
made here; and `warpgym lm sample` and `lm chat` as a user meets them."""

import io
import json
import os
import pty
import select
import signal
import subprocess
import time

import pytest
import torch
import transformers
from models import ROOT, WARPGYM, adapted, lm, random_model
from transformers.generation import logits_process

BACKENDS = ("reference", "cpu")
NEW = 200
CLOSE = 1e-4  # of log-probabilities of about -5
TIE = 1e-4  # logits that lie closer than this may come in either order
TIMEOUT_S = 60
LONG_ANSWER_CHARACTERS = 600

SMALL = {
    "vocab_size": 307,
    "hidden_size": 48,
    "intermediate_size": 80,
    "num_hidden_layers": 2,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
    "initializer_range": 0.3,
    "bos_token_id": 1,
    "eos_token_id": None,
}
CONFIGS = {
    "qwen2": (transformers.Qwen2Config, {"tie_word_embeddings": True}),
    "qwen3": (transformers.Qwen3Config, {"head_dim": 12}),
    "llama": (transformers.LlamaConfig, {"num_key_value_heads": 3}),
}


class Made:
    """A model, as Transformers has it and as files."""

    def __init__(self, family, directory, **changes):
        torch.manual_seed(len(family))
        kind, own = CONFIGS[family]
        config = kind(**{**SMALL, "tie_word_embeddings": False, **own, **changes})
        self.model, self.directory = random_model(config, 0.1), directory
        self.model.save_pretrained(directory)

    def logits(self, ids):
        with torch.no_grad():
            return self.model(input_ids=torch.tensor([ids])).logits[0]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    root = tmp_path_factory.mktemp("models")
    return {family: Made(family, root / family) for family in CONFIGS}


def prompt_of(length, seed=0):
    draw = torch.Generator().manual_seed(100 * length + seed)
    return torch.randint(3, SMALL["vocab_size"], (length,), generator=draw).tolist()


def sample(directory, ids, *words):
    ids = " ".join(map(str, ids))
    run = lm("sample", directory, "--raw", "--json", "--threads", 1, *words, ids)
    return [json.loads(line) for line in run.stdout.splitlines()]


def assert_same_greedy(ours, wanted, logits):
    """A token that differs is forgiven where the two stood as good as equal; none did so far."""
    for at, (mine, other) in enumerate(zip(ours, wanted, strict=True)):
        if mine != other:
            margin = float(logits(wanted[:at])[other] - logits(wanted[:at])[mine])
            assert margin < TIE, f"token {at}: {mine}, not {other}, by {margin}"
            return


@pytest.mark.parametrize("family", CONFIGS)
def test_greedy(made, family):
    one, distinct = made[family], 0
    for length in (2, 61):
        ids = prompt_of(length)
        inputs = torch.tensor([ids])
        wanted = one.model.generate(
            inputs,
            attention_mask=torch.ones_like(inputs),
            do_sample=False,
            max_new_tokens=NEW,
            pad_token_id=0,
        )[0, length:].tolist()
        for backend in BACKENDS:
            words = ("-t", 0, "--max-tokens", NEW, "--backend", backend)
            ours = sample(one.directory, ids, *words)[0]["tokens"]
            assert len(ours) == NEW
            assert_same_greedy(ours, wanted, lambda behind, ids=ids: one.logits(ids + behind)[-1])
        distinct += len(set(wanted))
    assert distinct > 40, "too simple to be a test"


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("family", CONFIGS)
def test_log_probabilities(made, family, backend):
    """Of sampled tokens, of the prompt's, and the most probable ones."""
    one, ids, top = made[family], prompt_of(37), 5
    words = ["-n", 3, "--seed", 11, "--max-tokens", 60, "--backend", backend]
    words += ["--top-logprobs", top, "--prompt-logprobs", "-t", 0.8, "--top-k", 50]
    answers = sample(one.directory, ids, *words)
    assert len({tuple(answer["tokens"]) for answer in answers}) == 3
    for answer in answers:
        tokens = ids + answer["tokens"]
        wanted = torch.log_softmax(one.logits(tokens).double(), -1)
        logprobs = answer["prompt_logprobs"] + answer["logprobs"]
        tops = answer["prompt_top_logprobs"] + answer["top_logprobs"]
        assert logprobs[0] is None and tops[0] == []
        for at in range(1, len(tokens)):
            row = wanted[at - 1]
            assert abs(logprobs[at] - float(row[tokens[at]])) < CLOSE
            best = row.topk(top)
            for (mine, logprob), value in zip(tops[at], best.values, strict=True):
                assert abs(logprob - float(value)) < CLOSE
                assert abs(float(row[mine]) - float(value)) < CLOSE


def test_processed(made):
    """The distribution that is sampled from is the one of Transformers' warpers in their order."""
    one, ids = made["qwen3"], prompt_of(20)
    ways = {
        ("-t", 0.7): [],
        ("-t", 1.3, "--top-k", 20): [logits_process.TopKLogitsWarper(20)],
        ("-t", 1.5, "--top-p", 0.8): [logits_process.TopPLogitsWarper(0.8)],
        ("-t", 1.2, "--min-p", 0.05): [logits_process.MinPLogitsWarper(0.05)],
        ("-t", 2, "--top-k", 30, "--top-p", 0.9, "--min-p", 0.02): [
            logits_process.TopKLogitsWarper(30),
            logits_process.TopPLogitsWarper(0.9),
            logits_process.MinPLogitsWarper(0.02),
        ],
    }
    for words, warpers in ways.items():
        answers = sample(
            one.directory, ids, "-n", 4, "--seed", 1, "--max-tokens", 30, "--processed", *words
        )
        seen = 0
        for answer in answers:
            tokens = ids + answer["tokens"]
            rows = one.logits(tokens)[len(ids) - 1 : -1] / words[1]
            for warper in warpers:
                rows = warper(None, rows)
            wanted = torch.log_softmax(rows.double(), -1)
            for row, token, logprob in zip(
                wanted, answer["tokens"], answer["logprobs"], strict=True
            ):
                assert abs(logprob - float(row[token])) < 10 * CLOSE
                seen += logprob < 0
        assert seen > 20


def test_adapter(made, tmp_path):
    """LoRA as PEFT applies it."""
    base = transformers.AutoModelForCausalLM.from_pretrained(
        made["qwen3"].directory, attn_implementation="eager"
    )
    torch.manual_seed(5)
    model = adapted(base, r=3, lora_alpha=5, target_modules="all-linear").eval()
    model.save_pretrained(tmp_path)
    ids = prompt_of(24)
    words = ("-t", 0, "--max-tokens", 60)
    plain = sample(made["qwen3"].directory, ids, *words)[0]
    ours = sample(made["qwen3"].directory, ids, *words, "--adapter", tmp_path)[0]
    assert ours["tokens"] != plain["tokens"]
    with torch.no_grad():
        rows = model(input_ids=torch.tensor([ids + ours["tokens"]])).logits[0]
    rows = torch.log_softmax(rows[len(ids) - 1 : -1].double(), -1)
    for row, token, logprob in zip(rows, ours["tokens"], ours["logprobs"], strict=True):
        assert float(row.max() - row[token]) < TIE
        assert abs(float(row[token]) - logprob) < CLOSE


@pytest.fixture(scope="module")
def talker(tmp_path_factory):
    """A model with a tokenizer, and positions enough for an answer that does not end soon."""
    directory = tmp_path_factory.mktemp("talker")
    sources = sorted(map(str, (ROOT / "src" / "base").glob("*.c")))
    lm("tokenizer", "--vocab", 400, "--out", directory, *sources)
    Made("qwen2", directory, vocab_size=400, max_position_embeddings=200_000)
    return directory


def text_of(directory, *words, **options):
    """JSON has U+FFFD for a NUL: which bytes there are, the sources decide."""
    words = ("--threads", 1, "--seed", 3, "--max-tokens", 80, *words)
    return lm("sample", directory, *words, **options).stdout.replace("\0", "\ufffd")


def test_text(talker):
    whole = json.loads(text_of(talker, "--json", "int main"))
    assert whole["finish"] == "length" and len(whole["tokens"]) == 80
    assert text_of(talker, "int main") == whole["text"] + "\n"
    assert text_of(talker, "-", input="int main") == whole["text"] + "\n"
    # Several: each on its own, the first as if it were alone.
    lines = text_of(talker, "-n", 3, "--json", "int main").split("\n")  # U+2028 ends no line
    several = {line["sample"]: line for line in map(json.loads, filter(None, lines))}
    assert several[0]["text"] == whole["text"] != several[1]["text"]
    assert [several[i]["seed"] for i in range(3)] == [3, 4, 5]


def test_stop_strings(talker):
    """Across the borders of tokens, the first of several, and one that does not come."""
    text = json.loads(text_of(talker, "--json", "int main"))["text"]
    whole = [at for at in range(10, len(text) - 4) if "\ufffd" not in text[at : at + 4]]
    for at in whole[:: max(1, len(whole) // 6)]:
        stop = text[at : at + 4]
        sampled = json.loads(text_of(talker, "--json", "--stop", stop, "--stop", "none", "int main"))
        assert sampled["finish"] == "stop"
        assert sampled["text"] == text[: text.index(stop)]
        assert len(sampled["tokens"]) <= 80
        assert text_of(talker, "--stop", stop, "int main") == sampled["text"] + "\n"
    assert json.loads(text_of(talker, "--json", "--stop", "none", "int main"))["text"] == text


def test_refused(talker, made):
    for words, why in {
        ("sample",): "name a model's directory",
        ("sample", talker, "a", "b"): "one prompt",
        ("sample", talker, "--raw", "x"): "'x' is not a token id",
        ("sample", talker, "--raw", "400"): "outside the model's vocabulary",
        ("sample", talker, "--top-logprobs", "3", "a"): "--json",
        ("sample", talker, "--max-tokens", "200000", "a"): "model's positions are 200000",
        ("sample", talker, "--top-p", "2", "a"): "top-p",
        ("sample", talker, "--backend", "abacus", "a"): "abacus",
        ("sample", talker, "--adapter", talker, "a"): "adapter_config.json",
        ("sample", made["llama"].directory, "a"): "tokenizer.json",
        ("chat",): "name one model's directory",
        ("chat", made["llama"].directory): "tokenizer.json",
    }.items():
        ended = lm(*words, status=2)
        assert why in ended.stderr, ended.stderr
        assert ended.stdout == "" and ended.stderr.count("\n") == 1


def test_interrupted(talker):
    words = [WARPGYM, "lm", "sample", str(talker), "--max-tokens", "0", "--threads", "1", "a"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as one:
        assert one.stdout.read(20)
        one.send_signal(signal.SIGINT)
        out, err = one.communicate(timeout=TIMEOUT_S)
    assert one.returncode == 130, err
    assert out.endswith(b"\n") and b"tokens/s" in err


def test_chat_through_a_pipe(talker):
    """The model sees what Transformers' template makes of the conversation."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(talker)
    words = ("chat", talker, "--threads", 1, "-t", 0, "--max-tokens", 20, "--system", "Be curt.")
    answers = lm(*words, input="int main\n\nand then?\n/reset\nint main\n").stdout
    messages = [{"role": "system", "content": "Be curt."}]
    wanted = []
    for question in ("int main", "and then?"):
        messages.append({"role": "user", "content": question})
        ids = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=True)
        ids = ids["input_ids"] if not isinstance(ids, list) else ids
        sampled = sample(talker, ids, "-t", 0, "--max-tokens", 20)[0]
        text = tokenizer.decode(sampled["tokens"], skip_special_tokens=True)
        wanted.append(text)
        messages.append({"role": "assistant", "content": text})
    said = "\n".join([*wanted, wanted[0], ""])  # a pipe read as text has no "\r"
    assert answers == io.StringIO(said, newline=None).read()


class Terminal:
    def __init__(self, *words):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execv(WARPGYM, [WARPGYM, "lm", *map(str, words)])
        self.seen = b""

    def wait_for(self, wanted, more=0):
        deadline = time.monotonic() + TIMEOUT_S
        start = len(self.seen)
        while wanted not in self.seen[start:] or len(self.seen) < start + more:
            left = deadline - time.monotonic()
            assert left > 0 and select.select([self.fd], [], [], left)[0], self.seen[-400:]
            self.seen += os.read(self.fd, 4096)

    def send(self, text):
        os.write(self.fd, text)

    def end(self):
        try:
            while os.read(self.fd, 4096):
                pass
        except OSError:  # the other side is closed
            pass
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def seed_of_a_long_answer(directory, question):
    """Any token may be the model's end token: which seed goes on, its weights decide."""
    for seed in range(1, 30):
        words = ("chat", directory, "--threads", 1, "--seed", seed, "--max-tokens", 1000)
        if len(lm(*words, input=question).stdout) > LONG_ANSWER_CHARACTERS:
            return seed
    raise AssertionError("no seed gives a long answer")


def test_chat_on_a_terminal(talker):
    """Ctrl-C stops an answer that would go on for a long time, and not the program."""
    seed = seed_of_a_long_answer(talker, "say everything\n")
    terminal = Terminal("chat", talker, "--threads", 1, "--seed", seed)
    terminal.wait_for(b"> ")
    terminal.send(b"say everything\n")
    terminal.wait_for(b"\n", more=300)
    terminal.send(b"\x03")
    terminal.wait_for(b"\n> ")
    terminal.send(b"/nonsense\n")
    terminal.wait_for(b"no such command")
    terminal.send(b"/help\n")
    terminal.wait_for(b"next one.\r\n> ")  # it reads again: else nothing is there to interrupt
    terminal.send(b"not sent \x03")
    terminal.wait_for(b"\n> ")
    terminal.send(b"\x04")
    assert terminal.end() == 0
