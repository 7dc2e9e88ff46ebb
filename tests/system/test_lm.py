"""The language-model engine against the packages that define its formats and figures (tests/lm):
Transformers, tokenizers, PEFT, the OpenAI client.

The packages are in .venv-gym; each list of checks is run by a Python of its own.
"""

import gym_packages
import pytest

CHECKS = [
    "chat",
    "learn",
    "openai",
    "sampler",
    "tokenizer",
    "transformers",
    "weights",
]


@pytest.mark.parametrize("checks", CHECKS)
def test_with(checks, warpgym, tmp_path):
    gym_packages.run_own_checks(f"tests/lm/{checks}_checks.py", warpgym, tmp_path)
