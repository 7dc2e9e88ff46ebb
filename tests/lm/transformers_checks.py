"""Logits, loss and every gradient of our engine against Transformers and PEFT, on models of the three
families that are made here: random weights, odd shapes, all ropes."""

import peft
import pytest
import safetensors.torch
import torch
import transformers
from models import TARGETS, adapted, probe, random_model

BACKENDS = ("reference", "cpu")
TOLERANCE = 1e-4  # of each tensor's norm
LENGTHS = (9, 1, 14)  # of the packed sequences
TEMPERATURE = 0.75

SMALL = {
    "vocab_size": 89,
    "hidden_size": 48,
    "intermediate_size": 88,
    "num_hidden_layers": 2,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "bos_token_id": None,
    "eos_token_id": None,
}
QWEN2, QWEN3 = transformers.Qwen2Config, transformers.Qwen3Config
LLAMA = transformers.LlamaConfig


def rope(kind, theta=10000.0, **more):
    return {"rope_parameters": {"rope_type": kind, "rope_theta": theta, **more}}


LLAMA3 = rope(
    "llama3",
    factor=4.0,
    low_freq_factor=1.0,
    high_freq_factor=4.0,
    original_max_position_embeddings=16,
)
YARN = {"factor": 4.0, "original_max_position_embeddings": 16}
CASES = {
    "qwen2": (QWEN2, {}),
    "qwen2 tied, one key head": (QWEN2, {"tie_word_embeddings": True, "num_key_value_heads": 1}),
    "qwen2 yarn": (QWEN2, rope("yarn", 1e6, **YARN)),
    "qwen3": (QWEN3, {"head_dim": 20}),
    "qwen3 tied, biases": (
        QWEN3,
        {"head_dim": 8, "tie_word_embeddings": True, "attention_bias": True},
    ),
    "qwen3 yarn by hand": (
        QWEN3,
        {"head_dim": 16, **rope("yarn", **YARN, attention_factor=0.9, beta_fast=8, beta_slow=2)},
    ),
    "llama": (LLAMA, {"num_key_value_heads": 6}),
    "llama biases": (LLAMA, {"attention_bias": True, "mlp_bias": True}),
    "llama tied, wide heads": (LLAMA, {"head_dim": 14, "tie_word_embeddings": True}),
    "llama linear": (LLAMA, rope("linear", factor=2.5)),
    "llama llama3": (LLAMA, LLAMA3),
    "llama yarn, two scales": (
        LLAMA,
        rope("yarn", **YARN, mscale=0.7, mscale_all_dim=1.2, truncate=False),
    ),
}


def model_of(case):
    torch.manual_seed(len(case))
    kind, changes = CASES[case]
    return random_model(kind(**{**SMALL, "tie_word_embeddings": False, **changes}), 0.15)


def request_of(vocab, seed=3):
    draw = torch.Generator().manual_seed(seed)
    rows = sum(LENGTHS)
    weights = torch.randn(rows, generator=draw)
    weights[2:5] = 0
    return {
        "tokens": torch.randint(vocab, (rows,), generator=draw).tolist(),
        "targets": torch.randint(vocab, (rows,), generator=draw).tolist(),
        "starts": [sum(LENGTHS[:i]) for i in range(len(LENGTHS) + 1)],
        "dlogprob": weights.tolist(),
        "dentropy": (0.3 * torch.randn(rows, generator=draw)).tolist(),
        "temperature": TEMPERATURE,
    }


def theirs(model, request):
    """What Transformers says to the same, one sequence at a time."""
    found = {"logits": [], "logprob": [], "entropy": []}
    for first, last in zip(request["starts"], request["starts"][1:], strict=False):
        tokens = torch.tensor([request["tokens"][first:last]])
        targets = torch.tensor(request["targets"][first:last])
        logits = model(input_ids=tokens).logits[0]
        logs = torch.log_softmax(logits / request["temperature"], -1)
        found["logits"].append(logits)
        found["logprob"].append(logs.gather(1, targets[:, None])[:, 0])
        found["entropy"].append(-(logs.exp() * logs).sum(-1))
    found = {key: torch.cat(parts) for key, parts in found.items()}
    loss = (torch.tensor(request["dlogprob"]) * found["logprob"]).sum()
    loss = loss + (torch.tensor(request["dentropy"]) * found["entropy"]).sum()
    if loss.requires_grad:
        loss.backward()
    found["loss"] = loss
    for name, parameter in model.named_parameters():
        if parameter.grad is not None:
            name = name.removeprefix("base_model.model.").replace(".base_layer.", ".")
            found["gradient." + name.replace(".default.", ".")] = parameter.grad
    return {key: value.detach() for key, value in found.items()}


def compare(ours, wanted):
    assert ours.keys() == wanted.keys()
    apart = {}
    for name, value in wanted.items():
        size = value.norm()
        assert size > 0, name
        apart[name] = float((ours[name].reshape(value.shape) - value).norm() / size)
    worst = max(apart, key=apart.get)
    print(f"largest of {len(apart)}: {apart[worst]:.2g} ({worst})")
    assert apart[worst] <= TOLERANCE, (worst, apart[worst])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("case", CASES)
def test_full(case, backend, tmp_path):
    model = model_of(case)
    model.save_pretrained(tmp_path / "model", max_shard_size="60KB")
    request = request_of(model.config.vocab_size)
    ours = probe(tmp_path, tmp_path / "model", request, backend=backend, threads=2, train="all")
    compare(ours, theirs(model, request))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("case", "train", "more"),
    [
        ("qwen2", "adapter", {}),
        ("qwen3 tied, biases", "adapter", {"use_rslora": True}),
        ("llama biases", "all", {}),
    ],
)
def test_adapter(case, train, more, backend, tmp_path):
    model = model_of(case)
    model.save_pretrained(tmp_path / "model")
    model = adapted(model, r=4, lora_alpha=10, target_modules=TARGETS, **more)
    model.save_pretrained(tmp_path / "adapter")
    for parameter in model.parameters():
        parameter.requires_grad_(parameter.requires_grad or train == "all")
    request = request_of(SMALL["vocab_size"])
    options = {"backend": backend, "threads": 2, "train": train, "adapter": tmp_path / "adapter"}
    options |= {"recompute": 1, "head_rows": 5}
    saving = {"save_adapter": tmp_path / "ours", "save": tmp_path / "merged", "merge": 1}
    ours = probe(tmp_path, tmp_path / "model", request, **options, **saving)
    wanted = theirs(model.eval(), request)
    compare(ours, wanted)

    # What we wrote, in their hands: the adapter alone, and merged into the model.
    def logits_of(other):
        with torch.no_grad():
            return {"logits": theirs(other.eval(), request)["logits"]}

    files = [tmp_path / name / "adapter_model.safetensors" for name in ("ours", "adapter")]
    written, read = (safetensors.torch.load_file(file) for file in files)
    assert written.keys() == read.keys()
    assert all(torch.equal(written[name], read[name]) for name in read)
    base = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "model")
    again = peft.PeftModel.from_pretrained(base, tmp_path / "ours")
    compare(logits_of(again), {"logits": wanted["logits"]})
    merged = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "merged")
    compare(logits_of(merged), {"logits": wanted["logits"]})


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_files(dtype, tmp_path):
    model_of("qwen3").to(dtype).save_pretrained(tmp_path / "model")
    model = transformers.AutoModelForCausalLM.from_pretrained(
        tmp_path / "model", dtype=torch.float32
    )
    request = request_of(SMALL["vocab_size"])
    ours = probe(tmp_path, tmp_path / "model", request, save=tmp_path / "ours")
    with torch.no_grad():
        compare(ours, theirs(model, request))
    written = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "ours").state_dict()
    assert written.keys() == model.state_dict().keys()
    assert all(torch.equal(written[name], value) for name, value in model.state_dict().items())


@pytest.mark.parametrize("case", [case for case in CASES if case.startswith("llama")])
def test_rope_tables(case, tmp_path):
    """Far positions: an angle of 40,000 in f32 shows how a frequency was rounded."""
    kind, changes = CASES[case]
    torch.manual_seed(0)
    config = kind(**{**SMALL, "max_position_embeddings": 40000, **changes})
    model = transformers.AutoModelForCausalLM.from_config(config)
    model.save_pretrained(tmp_path / "model")
    positions = [0, 1, 2, 17, 63, 1000, 32767, 39999]
    request = request_of(config.vocab_size) | {"rope": positions}
    ours = probe(tmp_path, tmp_path / "model", request)
    tables = model.model.rotary_emb(torch.zeros(1), torch.tensor([positions]))
    for name, table in zip(("cosine", "sine"), tables, strict=True):
        half = table[0, :, : table.shape[-1] // 2]
        apart = (ours[name] - half).abs().amax(1)
        # Frequencies may differ in their last bit, where two libraries round a power differently.
        allowed = 1e-6 + 1.5e-7 * torch.tensor(positions)
        assert bool((apart <= allowed).all()), (name, apart.tolist())
