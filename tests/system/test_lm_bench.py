"""`warpgym lm bench`: what it prints, and what it says of arguments that make no sense."""

import json

import pytest

TINY = {
    "model_type": "qwen2",
    "architectures": ["Qwen2ForCausalLM"],
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
    "rms_norm_eps": 1e-6,
    "tie_word_embeddings": True,
    "hidden_act": "silu",
}
SMALL = ("--rounds", "1", "--length", "16", "--batch-tokens", "32", "--answer", "4", "-j", "2")


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(TINY))
    return str(path)


def test_json(warpgym, config):
    run = warpgym("lm", "bench", "--config", config, *SMALL, "--batch", "3", "--json", expect=0)
    found = json.loads(run.out)
    assert found["parameters"] == 64 * 32 + 32 + 2 * (32 * (2 * 32 + 2 * 16 + 3 * 48 + 2) + 64)
    assert (found["backend"], found["threads"], found["rounds"]) == ("cpu", 2, 1)
    figures = {figure["name"]: figure for figure in found["figures"]}
    assert list(figures) == ["products", "reading", "training", "decoding 3"]
    for figure in figures.values():
        assert 0 < figure["rate"]["quartile1"] <= figure["rate"]["median"]
    assert figures["products"]["share"] is None
    assert figures["training"]["share_of"] == "products"
    assert figures["decoding 3"]["share"]["median"] > 0
    assert "model of 0.0" in run.err


def test_table(warpgym, config):
    run = warpgym(
        "lm", "bench", "--config", config, *SMALL, "--no-train", "--batch", "1", "-q", expect=0
    )
    rows = [line.split()[0] for line in run.out.splitlines()[1:]]
    assert rows == ["products", "reading", "decoding"]
    assert run.err == ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--batch", "0"), "--batch 0: must be a number from 1 to 4096"),
        (("--batch", "two"), "--batch two: must be a number from 1 to 4096"),
        (("--batch", "1") * 9, "--batch may be given 8 times"),
        (("--config", "x.json", "model"), "name one model directory, or a --config"),
        (("--backend", "abacus"), "unknown backend 'abacus'"),
        (("--config", "/nonexistent/config.json"), "/nonexistent/config.json"),
    ],
)
def test_refused(warpgym, arguments, said):
    run = warpgym("lm", "bench", *arguments)
    assert run.status != 0
    assert said in run.err
    assert run.out == ""
