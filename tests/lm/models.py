"""What checks of models share: the programs that they run, models of random weights and adapters."""

import json
import os
import subprocess
from pathlib import Path

import peft
import safetensors.torch
import torch
import transformers

ROOT = Path(__file__).resolve().parents[2]
WARPGYM = os.environ.get("TEST_WARPGYM", str(ROOT / "warpgym"))
PROBE = Path(os.environ.get("TEST_BUILD", ROOT / "build" / "tests")) / "lm" / "lm_probe"
TARGETS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
TIMEOUT_S = 120
torch.set_num_threads(1)  # tiny tensors


def random_model(config, spread):
    """Norms are not all 1, biases not all 0: those would hide what is missing."""
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager")
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * spread)
    return model.float().eval()


def adapted(model, **config):
    """The adapter's B is not 0, as a fresh one's is."""
    model = peft.get_peft_model(model, peft.LoraConfig(task_type="CAUSAL_LM", **config))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_" in name:
                parameter.add_(torch.randn_like(parameter) * 0.2)
    return model


def lm(*words, status=0, **options):
    """`warpgym lm WORDS`, ended."""
    words = [WARPGYM, "lm", *map(str, words)]
    run = subprocess.run(
        words, capture_output=True, text=True, timeout=TIMEOUT_S, check=False, **options
    )
    assert run.returncode == status, (run.returncode, run.stderr)
    return run


def probe(directory, model, request, **options):
    request_file, output = directory / "request.json", directory / "found.safetensors"
    request_file.write_text(json.dumps(request))
    words = [PROBE, model, request_file, output, *(f"{key}={options[key]}" for key in options)]
    run = subprocess.run(words, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert run.returncode == 0, run.stderr
    return safetensors.torch.load_file(output)
