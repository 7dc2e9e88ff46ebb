"""Configurations, safetensors files and adapters against the packages that define them: Transformers,
safetensors, PEFT. Models are made here, and written anew by `warpgym lm convert`."""

import json

import models
import peft
import pytest
import safetensors.torch
import torch
import transformers
from safetensors import safe_open

TOLERANCE = 1e-4
SIZES = {
    "vocab_size": 96,
    "hidden_size": 64,
    "intermediate_size": 80,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
}
SMALL = SIZES | {"num_key_value_heads": 2, "head_dim": 16, "max_position_embeddings": 256}
LLAMA3 = {
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
YARN = {"factor": 4.0, "original_max_position_embeddings": 64}


def done(*words):
    return models.lm(*words).stdout


def refused(*words):
    complaint = models.lm(*words, status=2).stderr
    assert complaint.count("\n") == 1, complaint
    return complaint


# As Transformers 4 wrote them, as they stand in checkpoints, and with as little as possible.
OLD = {
    "qwen2 bare": {"model_type": "qwen2", **SIZES, "num_attention_heads": 32},
    "qwen3 bare": {"model_type": "qwen3", **SIZES, "num_attention_heads": 32},
    "llama bare": {"model_type": "llama", **SIZES},
    "qwen2": {
        "model_type": "qwen2",
        **SMALL,
        "rope_theta": 1000000.0,
        "rope_scaling": {"type": "yarn", **YARN},
        "sliding_window": 131072,
        "use_sliding_window": False,
        "max_window_layers": 28,
        "tie_word_embeddings": True,
        "eos_token_id": 17,
        "bos_token_id": 11,
        "torch_dtype": "bfloat16",
    },
    "qwen3": {
        "model_type": "qwen3",
        **SMALL,
        "head_dim": 32,
        "attention_bias": True,
        "rope_theta": 1000000,
        "rope_scaling": None,
        "sliding_window": None,
        "rms_norm_eps": 1e-05,
    },
    "llama3": {
        "model_type": "llama",
        **SMALL,
        "head_dim": None,
        "rope_theta": 500000.0,
        "rope_scaling": {"rope_type": "llama3", **LLAMA3},
        "attention_bias": True,
        "mlp_bias": True,
        "bos_token_id": 90,
        "eos_token_id": [91, 92, 93],
        "pretraining_tp": 1,
    },
    "llama linear": {
        "model_type": "llama",
        **SIZES,
        "rope_scaling": {"type": "linear", "factor": 2.5},
        "initializer_range": 0.01,
    },
}


def rope(kind, **more):
    return {"rope_parameters": {"rope_type": kind, "rope_theta": 20000.0, **more}}


NEW = {
    "qwen2": transformers.Qwen2Config(**SMALL, **rope("linear", factor=2.0)),
    "qwen3": transformers.Qwen3Config(**SMALL, tie_word_embeddings=True),
    "qwen3 yarn": transformers.Qwen3Config(
        **SMALL, **rope("yarn", **YARN, attention_factor=0.9, beta_fast=16.0, beta_slow=2.0)
    ),
    "qwen2 window": transformers.Qwen2Config(**SMALL, use_sliding_window=True, max_window_layers=2),
    "llama3": transformers.LlamaConfig(**SMALL, **rope("llama3", **LLAMA3), mlp_bias=True),
    "llama yarn": transformers.LlamaConfig(
        **SMALL, **rope("yarn", **YARN, mscale=0.7, mscale_all_dim=1.2, truncate=False)
    ),
}
SAME = [key for key in SIZES if key != "num_attention_heads"]
SAME += ["num_attention_heads", "num_key_value_heads", "max_position_embeddings", "rms_norm_eps"]
SAME += ["initializer_range", "tie_word_embeddings", "bos_token_id", "eos_token_id", "pad_token_id"]


def write_config(config, directory):
    directory.mkdir()
    if isinstance(config, dict):
        (directory / "config.json").write_text(json.dumps(config))
    else:
        config.save_pretrained(directory)


def frequencies(config):
    model = transformers.AutoModel.from_config(config)
    return model.rotary_emb.inv_freq, model.rotary_emb.attention_scaling


@pytest.mark.parametrize("name", [*OLD, *(f"new {name}" for name in NEW)])
def test_a_config_says_the_same_to_both(name, tmp_path):
    config = OLD[name] if name in OLD else NEW[name.removeprefix("new ")]
    write_config(config, tmp_path / "model")
    theirs = transformers.AutoConfig.from_pretrained(tmp_path / "model")
    found = json.loads(done("info", "--json", tmp_path / "model"))
    ours = found["config"]
    assert {key: ours[key] for key in SAME} == {key: getattr(theirs, key) for key in SAME}
    model = transformers.AutoModelForCausalLM.from_config(theirs)
    assert found["parameters"] == model.num_parameters()
    assert ours["head_dim"] == model.model.layers[0].self_attn.head_dim

    # And what we write is, to Transformers, the same model.
    write_config(ours, tmp_path / "again")
    again = transformers.AutoConfig.from_pretrained(tmp_path / "again")
    assert {key: getattr(again, key) for key in SAME} == {key: ours[key] for key in SAME}
    shapes = {key: value.shape for key, value in model.state_dict().items()}
    second = transformers.AutoModelForCausalLM.from_config(again)
    assert {key: value.shape for key, value in second.state_dict().items()} == shapes
    assert torch.equal(frequencies(again)[0], frequencies(theirs)[0])
    assert frequencies(again)[1] == pytest.approx(frequencies(theirs)[1], rel=1e-12)


# Ties, the largest that stay finite and the smallest that stay, in both short types.
SPECIAL = [0.0, -0.0, float("inf"), -float("inf"), float("nan"), 65504.0, 65519.996, 65520.0]
SPECIAL += [2.0**-24, 2.0**-25, 3 * 2.0**-26, 2.0**-14, 2.0**-133, 2.0**-149, 1 + 2.0**-8]
SPECIAL += [1 + 3 * 2.0**-8, 1 + 2.0**-11, 1 + 3 * 2.0**-11, 3.4028234e38, 1e-40, -2.0**-140]
DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}


def random_model(family="qwen2", seed=1, **changes):
    torch.manual_seed(seed)
    config = transformers.AutoConfig.for_model(
        family, **{**SMALL, "tie_word_embeddings": False, **changes}
    )
    return models.random_model(config, 0.1)


def tensors_of(directory):
    found = {}
    for path in sorted(directory.glob("model*.safetensors")):
        found |= safetensors.torch.load_file(path)
    return found


def same_bits(left, right):
    if left.dtype != right.dtype or left.shape != right.shape:
        return False
    whole = torch.int32 if left.dtype == torch.float32 else torch.int16
    nan = left.isnan()
    return torch.equal(nan, right.isnan()) and torch.equal(
        left.view(whole)[~nan], right.view(whole)[~nan]
    )


@pytest.mark.parametrize("kept", DTYPES)
def test_types_and_files(kept, tmp_path):
    model = random_model()
    with torch.no_grad():
        model.model.embed_tokens.weight.view(-1)[: len(SPECIAL)] = torch.tensor(SPECIAL)
    model.to(DTYPES[kept]).save_pretrained(tmp_path / "in", max_shard_size="50KB")
    before = tensors_of(tmp_path / "in")
    assert len(list((tmp_path / "in").glob("*.safetensors"))) > 2
    for name, dtype in DTYPES.items():
        done("convert", "--dtype", name, tmp_path / "in", tmp_path / name)
        after = tensors_of(tmp_path / name)
        assert after.keys() == before.keys()
        apart = [key for key in after if not same_bits(after[key], before[key].to(dtype))]
        assert apart == []
    loaded = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "bf16")
    assert loaded.dtype == torch.bfloat16
    done("convert", "--shard-mib", "1", tmp_path / "in", tmp_path / "kept")
    assert all(same_bits(value, before[key]) for key, value in tensors_of(tmp_path / "kept").items())


def test_several_files(tmp_path):
    model = random_model(vocab_size=5000)
    model.save_pretrained(tmp_path / "in")
    (tmp_path / "in" / "tokenizer_config.json").write_text('{"x": 1}')
    done("convert", "--shard-mib", "1", tmp_path / "in", tmp_path / "out")
    files = sorted(path.name for path in (tmp_path / "out").glob("*.safetensors"))
    assert files == [f"model-0000{i}-of-00003.safetensors" for i in (1, 2, 3)]
    assert (tmp_path / "out" / "tokenizer_config.json").read_text() == '{"x": 1}'
    loaded, report = transformers.AutoModelForCausalLM.from_pretrained(
        tmp_path / "out", output_loading_info=True
    )
    assert not report["missing_keys"] and not report["unexpected_keys"]
    state = model.state_dict()
    assert all(torch.equal(value, state[key]) for key, value in loaded.state_dict().items())
    found = json.loads(done("info", "--json", tmp_path / "out"))
    assert found["checkpoint"]["files"] == 3
    assert found["checkpoint"]["elements"] == found["parameters"]
    assert found["checkpoint"]["bytes_by_type"] == {"F32": 4 * found["parameters"]}
    assert "name another directory" in refused("convert", tmp_path / "in", tmp_path / "out")


def test_info(tmp_path):
    how = {"r": 4, "lora_alpha": 8, "target_modules": ["q_proj", "o_proj", "v_proj", "up_proj"]}
    model = adapted("qwen3", how, tmp_path)
    base, adapter = tmp_path / "base", tmp_path / "theirs"
    done("tokenizer", "--vocab", "300", "--least", "1", "--out", base, __file__)
    found = json.loads(done("info", "--json", "--adapter", adapter, "--tokens", "100", base))
    assert found["tokenizer_size"] == 300
    assert found["adapter"]["target_modules"] == ["q_proj", "v_proj", "o_proj", "up_proj"]
    trained, every = model.get_nb_trainable_parameters()
    costs = found["training"]
    assert costs["adapter"]["trained"] == trained
    assert costs["all"]["trained"] == every - trained == found["parameters"]
    assert costs["adapter"]["weights_bytes"] == 4 * every
    assert costs["adapter"]["optimizer_bytes"] == 8 * trained
    assert 0 < costs["all"]["recomputed_activations_bytes"] < costs["all"]["activations_bytes"]
    more = json.loads(done("info", "--json", "--tokens", "200", base))["training"]["all"]
    assert more["activations_bytes"] > 1.5 * costs["all"]["activations_bytes"]
    text = done("info", "--adapter", adapter, base)
    rows = ["qwen3, 2 layers of width 64 and 80", "300 tokens", "rank 4, alpha 8, scale 2"]
    rows += ["none, stop none", "training all, 256 tokens", f"{found['parameters']}: "]
    assert [row for row in rows if row not in text] == []
    assert "not as many" not in text
    (base / "model.safetensors").unlink()
    assert "no weights here" in done("info", base)
    assert "no such file" in refused("info", tmp_path)
    config = json.loads((base / "config.json").read_text())
    (base / "config.json").write_text(json.dumps({**config, "model_type": "mamba"}))
    assert "'model_type' is 'mamba'; the engine knows" in refused("info", base)


@pytest.mark.parametrize("family", ["qwen2", "qwen3", "llama"])
def test_fresh_models(family, tmp_path):
    config = {"model_type": family, **SMALL, "tie_word_embeddings": family == "qwen3"}
    (tmp_path / "config.json").write_text(json.dumps(config))
    for name, seed in (("one", 7), ("same", 7), ("other", 8)):
        done("convert", "--fresh", tmp_path / "config.json", "--seed", str(seed), tmp_path / name)
    one, same, other = (tensors_of(tmp_path / name) for name in ("one", "same", "other"))
    assert all(torch.equal(value, same[key]) for key, value in one.items())
    key = "model.layers.1.mlp.up_proj.weight"
    assert not torch.equal(one[key], other[key])
    assert not torch.equal(one[key], one[key.replace("layers.1", "layers.0")])
    assert float(one[key].std()) == pytest.approx(0.02, rel=0.05)
    assert abs(float(one[key].mean())) < 0.001
    _, report = transformers.AutoModelForCausalLM.from_pretrained(
        tmp_path / "one", output_loading_info=True
    )
    assert not report["missing_keys"] and not report["unexpected_keys"]
    with safe_open(tmp_path / "one" / "model.safetensors", "pt") as file:
        assert file.metadata() == {"format": "pt"}


ADAPTERS = [
    ("qwen2", {"r": 4, "lora_alpha": 8, "target_modules": ["q_proj", "v_proj"]}),
    ("qwen2", {"r": 1, "lora_alpha": 3, "target_modules": "all-linear"}),
    ("qwen3", {"r": 8, "lora_alpha": 4, "target_modules": models.TARGETS, "use_rslora": True}),
    ("qwen3", {"r": 3, "lora_alpha": 5, "target_modules": ["mlp.down_proj", "self_attn.o_proj"]}),
    ("llama", {"r": 16, "lora_alpha": 16, "target_modules": ["gate_proj", "up_proj", "k_proj"]}),
    ("llama", {"r": 5, "lora_alpha": 7, "target_modules": ["q_proj"], "use_rslora": True}),
]
TOKENS = torch.arange(3, 27).remainder(SMALL["vocab_size"])


def adapted(family, how, directory):
    """A model and an adapter on it, both saved."""
    model = random_model(family)
    model.save_pretrained(directory / "base")
    model = models.adapted(model, **how)
    model.save_pretrained(directory / "theirs")
    return model.eval()


def logits_of(model):
    with torch.no_grad():
        return model.eval()(input_ids=TOKENS[None]).logits[0]


def our_logits(directory, base, **options):
    count = len(TOKENS)
    request = {"tokens": TOKENS.tolist(), "targets": [0] * count, "starts": [0, count]}
    request["dlogprob"] = [1.0] * count
    return models.probe(directory, base, request, **options)["logits"].reshape(count, -1)


def apart(left, right):
    return float((left - right).norm() / right.norm())


@pytest.mark.parametrize(("family", "how"), ADAPTERS)
def test_adapters(family, how, tmp_path):
    model = adapted(family, how, tmp_path)
    base, theirs, ours = (tmp_path / name for name in ("base", "theirs", "ours"))
    wanted = logits_of(model)
    with model.disable_adapter():
        assert apart(logits_of(model), wanted) > 0.01  # the adapter does something
    assert apart(our_logits(tmp_path, base, adapter=theirs), wanted) <= TOLERANCE

    done("convert", "--adapter", theirs, base, ours)
    assert json.loads((ours / "adapter_config.json").read_text())["r"] == how["r"]
    fresh = transformers.AutoModelForCausalLM.from_pretrained(base, attn_implementation="eager")
    assert torch.equal(logits_of(peft.PeftModel.from_pretrained(fresh, ours)), wanted)

    done("convert", "--merge", theirs, base, tmp_path / "merged")
    merged = model.merge_and_unload()
    state = tensors_of(tmp_path / "merged")
    assert state.keys() == merged.state_dict().keys()
    assert max(apart(state[key], value) for key, value in merged.state_dict().items()) < 1e-6
    assert apart(our_logits(tmp_path, tmp_path / "merged"), logits_of(merged)) <= TOLERANCE


def test_adapters_that_do_not_fit(tmp_path):
    adapted("llama", {"r": 4, "lora_alpha": 8, "target_modules": ["q_proj", "up_proj"]}, tmp_path)
    base, path = tmp_path / "base", tmp_path / "theirs" / "adapter_model.safetensors"
    tensors = safetensors.torch.load_file(path)
    name = "base_model.model.model.layers.1.mlp.up_proj.lora_A.weight"
    assert name in tensors
    spoiled = {
        "is missing": {key: value for key, value in tensors.items() if key != name},
        "is no tensor of this adapter": {**tensors, "base_model.model.lm_head.lora_A.weight": tensors[name].clone()},
        "has shape [5, 64]": {**tensors, name: torch.zeros(5, 64)},
        "is of type I32": {**tensors, name: torch.zeros(4, 64, dtype=torch.int32)},
    }
    for why, contents in spoiled.items():
        safetensors.torch.save_file(contents, path)
        sentence = refused("convert", "--adapter", tmp_path / "theirs", base, tmp_path / "out")
        assert why in sentence
        assert not list(tmp_path.glob("out*"))
    path.write_bytes(path.read_bytes()[:-1])
    assert "is it cut?" in refused(
        "convert", "--merge", tmp_path / "theirs", base, tmp_path / "out"
    )
