"""The language-model engine against the packages that define its formats and figures (tests/lm):
Transformers, tokenizers, PEFT, the OpenAI client.

The packages are in .venv-gym; each group of checks is run by a Python of its own, and shares what
takes seconds to import.
"""

import gym_packages
import pytest

GROUPS = {
    "tokenizers": ("learn", "openai", "tokenizer"),
    "transformers": ("chat", "embedding", "sampler", "transformers", "weights"),
}


@pytest.mark.parametrize("group", GROUPS)
def test_with(group, warpgym, tmp_path):
    checks = [f"tests/lm/{name}_checks.py" for name in GROUPS[group]]
    gym_packages.run_own_checks(checks, warpgym, tmp_path)
