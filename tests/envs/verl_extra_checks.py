"""What `pip install "./python[verl]"` brings is enough for our modules for verl's agent loops and
trainer: they are imported while packages that nothing in it asks for are hidden.
tests/system/test_verl_real.py runs it where a Python has verl."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("verl")
tomllib = pytest.importorskip("tomllib")

PYTHON = Path(__file__).resolve().parents[2] / "python"
IMPORT = """
import importlib.metadata as metadata, re, sys
from packaging.requirements import Requirement

def normal(name):
    return re.sub("[-_.]+", "-", name).lower()

def brought(texts):
    found, queue = set(), [(Requirement(text), "") for text in texts]
    while queue:
        wanted, extra = queue.pop()
        if wanted.marker and not wanted.marker.evaluate({"extra": extra}):
            continue
        for one in ("", *wanted.extras):
            if (normal(wanted.name), one) in found:
                continue
            found.add((normal(wanted.name), one))
            requires = metadata.requires(wanted.name) or []
            queue += [(Requirement(text), one) for text in requires]
    return {name for name, _ in found}

ours = brought(sys.argv[1:])
hidden = {
    module
    for module, packages in metadata.packages_distributions().items()
    if not any(normal(package) in ours for package in packages)
}

class Hide:
    def find_spec(self, name, path=None, target=None):
        if name in hidden and name != "warpgym":
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)

sys.meta_path.insert(0, Hide())
import warpgym.verl, warpgym.verl_agent, warpgym.verl_methods, warpgym.verl_trainer
"""


def test_the_extra_is_enough():
    project = tomllib.loads((PYTHON / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = project["optional-dependencies"]["verl"]
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", IMPORT, *asked],
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr[-2000:]
