"""`warpgym lm train`: fresh models and adapters, a run that dies and goes on, what is refused."""

import json
import random
import signal
import subprocess

import pytest
import support

KILLS = 5
# The tests run beside others: a second thread would wait for the first one's core.
FAST = ("--quiet", "--threads", 1)

FUNCTIONS = [
    f"int {name}(int {a}, int {b})\n{{\n    return {a} {sign} {b};\n}}\n"
    for name, sign in (("add", "+"), ("sub", "-"), ("mul", "*"), ("both", "&"), ("either", "|"))
    for a, b in (("a", "b"), ("x", "y"))
]

# Small functions of the kinds that C is full of; --- between them.
TINY = r"""
int largest(const int *x, int n)
{
    int best = x[0];
    for (int i = 1; i < n; i++)
        if (x[i] > best)
            best = x[i];
    return best;
}
---
int count(const char *text, char wanted)
{
    int found = 0;
    for (; *text; text++)
        found += *text == wanted;
    return found;
}
---
unsigned gcd(unsigned a, unsigned b)
{
    while (b) {
        unsigned rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}
---
float mean(const float *x, int n)
{
    float sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i];
    return n > 0 ? sum / n : 0;
}
---
void reverse(char *text, int n)
{
    for (int i = 0; i < n / 2; i++) {
        char kept = text[i];
        text[i] = text[n - 1 - i];
        text[n - 1 - i] = kept;
    }
}
---
long power(long base, unsigned exponent)
{
    long result = 1;
    for (; exponent; exponent >>= 1) {
        if (exponent & 1)
            result *= base;
        base *= base;
    }
    return result;
}
---
struct pair {
    int first, second;
};
struct pair ordered(struct pair p)
{
    if (p.first <= p.second)
        return p;
    return (struct pair){p.second, p.first};
}
---
int is_prime(unsigned n)
{
    for (unsigned i = 2; i * i <= n; i++)
        if (n % i == 0)
            return 0;
    return n > 1;
}
"""


def config(vocab=320, width=32):
    return {
        "model_type": "qwen3",
        "architectures": ["Qwen3ForCausalLM"],
        "vocab_size": vocab,
        "hidden_size": width,
        "intermediate_size": 3 * width,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "head_dim": 16,
        "max_position_embeddings": 256,
        "rms_norm_eps": 1e-6,
        "rope_theta": 10000,
        "tie_word_embeddings": True,
        "hidden_act": "silu",
        "initializer_range": 0.05,
    }


@pytest.fixture(scope="module")
def given(module_warpgym, tmp_path_factory):
    """A tokenizer, the shape of a model, and examples of the three kinds."""
    folder = tmp_path_factory.mktemp("given")
    corpus = support.write(folder / "corpus.c", "\n".join(FUNCTIONS))
    module_warpgym.ok("lm", "tokenizer", "--vocab", 320, "-o", folder / "tok", corpus)
    support.write(folder / "config.json", json.dumps(config()))
    support.write_lines(folder / "text.jsonl", [{"text": text} for text in FUNCTIONS])
    support.write_lines(
        folder / "chats.jsonl",
        [
            {"messages": [{"role": "user", "content": f"write {text.split('(')[0]}"},
                          {"role": "assistant", "content": text}], "solved": True}
            for text in FUNCTIONS
        ],
    )  # fmt: skip
    support.write_lines(
        folder / "eval.jsonl", [{"prompt": "int add(int a, int b)", "completion": "\n{\n"}]
    )
    return folder


def fresh(given, data, out, *more):
    return (
        "lm", "train", "--fresh", given / "config.json", "--tokenizer", given / "tok",
        "--data", given / data, "--out", out, "--batch-tokens", 128, *FAST, *more,
    )  # fmt: skip


def steps_of(out):
    """The lines of a run's metrics, without the time that each took."""
    lines = support.read_lines(out / "metrics.jsonl")
    return [{key: line[key] for key in line if key != "tokens_per_s"} for line in lines]


def test_answers_are_learned(warpgym, given, tmp_path):
    out, adapted = tmp_path / "run", tmp_path / "adapted"
    run = warpgym.ok(
        *fresh(given, "chats.jsonl", out, "--epochs", 12, "--warmup", 5, "--rate", 0.01),
        "--eval", given / "eval.jsonl", "--evaluate-every", 20,
    )  # fmt: skip
    lines = support.read_lines(out / "metrics.jsonl")
    steps = [line for line in lines if "loss" in line]
    evaluations = [line for line in lines if "evaluation_loss" in line]
    assert [line["step"] for line in steps] == list(range(1, len(steps) + 1))
    assert steps[-1]["epoch"] == 12 and steps[-1]["loss"] < steps[0]["loss"] / 4
    assert all(0 < line["targets"] < line["tokens"] <= 128 for line in steps)
    assert steps[4]["rate"] == 0.01 and steps[0]["rate"] == 0.002
    assert steps[-1]["rate"] < 0.0011
    assert [line["step"] for line in evaluations][:2] == [20, 40]
    assert evaluations[-1]["step"] == len(steps)
    assert run.out.startswith(f"{len(steps)} steps, ") and str(out / "model") in run.out
    kept = sorted(path.name for path in (out / "checkpoints").iterdir())
    assert kept == [f"step-{len(steps):08}"]  # fewer steps than --checkpoint-every
    files = {path.name for path in (out / "model").iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= files

    # What came out is a model to go on with.
    before = (out / "model" / "model.safetensors").read_bytes()
    run = warpgym.ok(
        "lm", "train", out / "model", "--lora", 4, "--target", "q_proj", "--target", "v_proj",
        "-d", given / "text.jsonl", "-o", adapted, "--rate", 0.01, "--epochs", 6,
        "--batch-tokens", 128, *FAST,
    )  # fmt: skip
    steps = support.read_lines(adapted / "metrics.jsonl")
    assert steps[-1]["loss"] < steps[0]["loss"]
    adapter = json.loads((adapted / "adapter" / "adapter_config.json").read_text(encoding="utf-8"))
    assert adapter["r"] == 4 and set(adapter["target_modules"]) == {"q_proj", "v_proj"}
    assert not (adapted / "model").exists()
    assert (out / "model" / "model.safetensors").read_bytes() == before


def test_killed(warpgym, given, tmp_path):
    """Killed again and again while it trains and saves: the same numbers, the same model."""
    draw = random.Random(5)
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    more = ("--epochs", 150, "--checkpoint-every", 7, "--eval", given / "eval.jsonl")
    warpgym.ok(*fresh(given, "text.jsonl", whole, *more))
    metrics = parts / "metrics.jsonl"
    for _ in range(KILLS):
        there = metrics.read_bytes().count(b"\n") if metrics.exists() else 0
        enough = there + draw.randrange(4, 9)
        process = warpgym.start(*fresh(given, "text.jsonl", parts, *more))
        support.wait_until(
            lambda enough=enough: metrics.exists() and metrics.read_bytes().count(b"\n") >= enough,
            "steps",
        )
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL
    warpgym.ok(*fresh(given, "text.jsonl", parts, *more))
    assert steps_of(parts) == steps_of(whole)
    for name in ("model.safetensors", "config.json"):
        assert (parts / "model" / name).read_bytes() == (whole / "model" / name).read_bytes()
    assert len(list((parts / "checkpoints").iterdir())) == 2


def test_interrupted(warpgym, given, tmp_path):
    out = tmp_path / "run"
    arguments = fresh(given, "text.jsonl", out, "--steps", 100000, "--checkpoint-every", 0)
    process = warpgym.start(*arguments)
    metrics = out / "metrics.jsonl"
    support.wait_until(lambda: metrics.exists() and metrics.stat().st_size > 0, "a step")
    other = warpgym(*arguments, expect=support.INFRASTRUCTURE)
    assert "another process trains there" in other.err
    process.send_signal(signal.SIGINT)
    run = warpgym.finish(process, expect=support.INTERRUPTED)
    assert "the same command resumes from there" in run.err
    (checkpoint,) = (out / "checkpoints").iterdir()
    state = json.loads((checkpoint / "state.json").read_text(encoding="utf-8"))
    assert state["more"]["step"] == steps_of(out)[-1]["step"]
    warpgym.refused("the run began with rate 0.001, now it is 0.5", *arguments, "--rate", 0.5)


def test_progress(warpgym, given, tmp_path):
    arguments = [*fresh(given, "text.jsonl", tmp_path / "run", "--epochs", 2)]
    arguments.remove("--quiet")
    run = warpgym.ok(*arguments, environment={"TERM": "dumb"}, stderr=subprocess.PIPE)
    assert "M parameters" in run.err and "10 examples" in run.err


def test_memorised_functions(warpgym, tmp_path):
    """A model that was trained long enough writes what it was trained on, and that compiles."""
    texts = [text.strip("\n") + "\n" for text in TINY.split("---")]
    corpus = support.write(tmp_path / "corpus.c", "\n".join(texts))
    support.write(tmp_path / "config.json", json.dumps(config(width=48) | {"head_dim": 24}))
    support.write_lines(tmp_path / "text.jsonl", [{"text": text} for text in texts])
    run = warpgym.ok("lm", "tokenizer", "--vocab", 320, "-o", tmp_path / "tok", corpus)
    run = warpgym.ok(
        *fresh(tmp_path, "text.jsonl", tmp_path / "run", "--epochs", 100, "--rate", 0.01),
        "--batch-tokens", 512, "--warmup", 10, "--checkpoint-every", 0,
    )  # fmt: skip
    steps = support.read_lines(tmp_path / "run" / "metrics.jsonl")
    assert steps[0]["loss"] > 4 and steps[-1]["loss"] < 0.1
    for text in texts:
        beginning = text[: text.index("\n") + 1]
        run = warpgym.ok(
            "lm", "sample", tmp_path / "run" / "model", beginning,
            "--temperature", 0, "--max-tokens", 200, "--threads", 1,
        )  # fmt: skip
        written = beginning + run.out.removeprefix(beginning)
        gcc = ["gcc", "-fsyntax-only", "-Wall", "-Werror", "-x", "c", "-"]
        compiled = support.captured(gcc, input=written)
        assert compiled.returncode == 0, written + compiled.stderr
        assert written.rstrip() == text.rstrip()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "name the directory of a model, or --fresh CONFIG.json"),
        (("a", "b"), "name one model directory"),
        (("--fresh", "config.json"), "--fresh needs --tokenizer DIR"),
        (("a", "--fresh", "config.json"), "exclude each other"),
        (("--fresh", "config.json", "--tokenizer", "tok", "--lora", 4), "not --fresh"),
        (("a",), "--data is missing"),
        (("a", "--data", "text.jsonl"), "--out is missing"),
        (("a", "--data", "text.jsonl", "-o", "x"), "a: no such"),
        (("--fresh", "config.json", "--tokenizer", "tok", "-d", "none", "-o", "x"),
         "none: no such"),
        (("--fresh", "config.json", "--tokenizer", "nowhere", "-d", "text.jsonl", "-o", "x"),
         "nowhere"),
        (("--fresh", "small.json", "--tokenizer", "tok", "-d", "text.jsonl", "-o", "x"),
         "tokens, the model only 100"),
        (("--fresh", "config.json", "--tokenizer", "tok", "-d", "broken.jsonl", "-o", "x"),
         "broken.jsonl:2:"),
        (("--fresh", "config.json", "--tokenizer", "tok", "-d", "text.jsonl", "-o", "x",
          "--backend", "abacus"), "unknown backend 'abacus'"),
        (("--fresh", "config.json", "--tokenizer", "tok", "-d", "text.jsonl", "-o", "config.json"),
         "config.json"),
        (("a", "--tokenizer", "tok", "--lora", 4, "--target", "head", "-d", "text.jsonl",
          "-o", "x"),
         "--target head"),
    ],
)  # fmt: skip
def test_refused(warpgym, given, arguments, complaint):
    support.write(given / "small.json", json.dumps(config(vocab=100)))
    support.write(given / "broken.jsonl", '{"text": "a"}\n{"text": 5}\n')
    run = warpgym("lm", "train", "--threads", 1, *arguments, cwd=given)
    assert run.status in (support.USAGE, support.INFRASTRUCTURE)
    assert complaint in run.err.splitlines()[-1]
    assert not (given / "x").exists()
