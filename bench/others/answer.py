"""What a script here prints last: the verdict of another project's judge, as one JSON object.

`correct`: it accepts the candidate. `speedup`: of the reference's time and the candidate's, both by
its own clock, or None. `why`: in its words.

Their code and the candidate share a process, as they do where people use them, so that a candidate
can print such an object, too: the last one counts, and that is the judge's own.
"""

import importlib.util
import json
import os
import sys
import types
from pathlib import Path


def arguments():
    """The checkout, the problem's file and the candidate's, as they stand on the command line."""
    if len(sys.argv) != 4:
        sys.exit(f"usage: {Path(sys.argv[0]).name} CHECKOUT PROBLEM CANDIDATE")
    checkout, problem, candidate = (Path(word).resolve() for word in sys.argv[1:])
    return checkout, problem, candidate


def answer(correct, speedup, why):
    line = {"correct": bool(correct), "speedup": speedup or None, "why": str(why)[:300]}
    print("\n" + json.dumps(line), flush=True)
    os._exit(0)  # threads that the candidate left behind keep nothing waiting


def module_of(path):
    spec = importlib.util.spec_from_file_location("problem", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def without(*names):
    """Packages that a project imports and its judge never calls: clients of language models."""
    for name in names:
        if importlib.util.find_spec(name) is None:
            absent = types.ModuleType(name)
            absent.__getattr__ = lambda word, name=name: f"{name}.{word} is not installed"
            sys.modules[name] = absent
