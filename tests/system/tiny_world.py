"""A world small enough to train in: four problems of one line each, prompts of one word, and a
model that has learned to write all four answers, and not which belongs to which problem."""

import json

import support

EXPRESSIONS = {"plus": "x[i] + 1", "minus": "x[i] - 1", "twice": "2 * x[i]", "half": "x[i] / 2"}

PROBLEM = """name: {name}
summary: {name}.
signature: void solution(const float *x, float *y, size_t n)
arguments:
  x: {{role: in, type: f32, shape: [n], fill: normal}}
  y: {{role: out, type: f32, shape: [n]}}
  n: {{role: size}}
tolerance: {{relative: 1.0e-5, scale: rms}}
check: [{{n: 1}}, {{n: 17}}]
time: [{{n: 1000}}]
work: {{flops: n, bytes: 8*n}}
"""

MODEL = {
    "model_type": "qwen3",
    "architectures": ["Qwen3ForCausalLM"],
    "vocab_size": 320,
    "hidden_size": 48,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 24,
    "max_position_embeddings": 192,
    "rms_norm_eps": 1e-6,
    "rope_theta": 10000,
    "tie_word_embeddings": True,
    "hidden_act": "silu",
    "initializer_range": 0.05,
}

# What every run here shares: nothing is timed, for no two runs would agree.
CONFIG = """
train:
  model: {model}
  lora_rank: 0
  timing: false
  rate: 0.001
  max_tokens: 120
  threads: 1
  jobs: 8
  evaluate_every: 0
gym: {{turns: 1, shots: 0, style: terse, token_budget: 0}}
prompts: {{path: {folder}/prompts}}
problems: {{path: {folder}/problems}}
run: {{threads: 1}}
"""


def source(expression, size="unsigned long"):
    return (
        f"void solution(const float *x, float *y, {size} n)\n{{\n"
        f"    for ({size} i = 0; i < n; i++)\n        y[i] = {expression};\n}}\n"
    )


def answer(expression):
    return f"<KERNEL>\n```c\n{source(expression)}```\n</KERNEL>"


def broken_problem(folder):
    """One whose reference is no program: nothing can be judged by it."""
    place = folder / "problems" / "broken"
    support.write(place / "problem.yaml", PROBLEM.format(name="broken"))
    support.write(place / "reference.c", "void solution(void) { syntax error\n")
    return place


def talk(question, answered):
    messages = [{"role": "user", "content": question}, {"role": "assistant", "content": answered}]
    return {"messages": messages}


def make(warpgym, folder, epochs=60, more=(), positions=MODEL["max_position_embeddings"]):
    """Problems, prompts, data, tokenizer, model and CONFIG as run.yaml, all in the folder. `more`
    is talk that the model learns besides."""
    for name, expression in EXPRESSIONS.items():
        problem = folder / "problems" / name
        support.write(problem / "problem.yaml", PROBLEM.format(name=name))
        text = "#include <stddef.h>\n\n" + source(expression, "size_t")
        support.write(problem / "reference.c", text)
    for file, text in (("first", "problem.id"), ("later", "feedback"), ("feedback", "status")):
        support.write(folder / "prompts" / "terse" / f"{file}.txt", f"{{{{{text}}}}}\n")
    chats = [
        talk(name, answer(expression))
        for name in EXPRESSIONS for expression in EXPRESSIONS.values()
    ] + list(more)  # fmt: skip
    support.write_lines(folder / "sft.jsonl", chats)
    support.write(
        folder / "corpus.c",
        "\n".join(message["content"] for chat in chats for message in chat["messages"]),
    )
    model = MODEL | {"max_position_embeddings": positions}
    support.write(folder / "config.json", json.dumps(model))
    warpgym.ok("lm", "tokenizer", "--vocab", 320, "-o", folder / "tok", folder / "corpus.c")
    warpgym.ok(
        "lm", "train", "--fresh", folder / "config.json", "--tokenizer", folder / "tok",
        "--data", folder / "sft.jsonl", "-o", folder / "base", "--epochs", epochs,
        "--rate", 0.01, "--warmup", 5, "--batch-tokens", 1024, "--threads", 1, "--quiet",
    )  # fmt: skip
    model = folder / "base" / "model"
    return support.write(folder / "run.yaml", CONFIG.format(model=model, folder=folder))


# --- runs, as far as two of them can be the same -------------------------------------------------


def arguments(world, out, *pairs):
    return ("train", world, "--out", out, "--quiet", *pairs)


def without_times(line):
    return {name: value for name, value in line.items() if not name.startswith("time/")}


def metrics(out):
    return [without_times(line) for line in support.read_lines(out / "metrics.jsonl")]


def traces(out):
    """But for verdicts, which say when and how long."""
    lines = support.read_lines(out / "traces.jsonl")
    return [{key: value for key, value in line.items() if key != "verdict"} for line in lines]


def events(out):
    return [line["event"] for line in support.read_lines(out / "train.log")]


def state(checkpoint):
    """Of a line of checkpoints.jsonl."""
    evaluation = checkpoint["state"]["evaluation"]
    return checkpoint["state"] | {"evaluation": evaluation and without_times(evaluation)}
