"""One candidate process: builds the extensions of corpus files, and runs them where it can.

    extension_child.py CHANNEL SCRATCH FILE…

For each file one line of JSON: {"file", "asked", "error", "ran"}. A file is a candidate's text with
load_inline or load in it, and besides: DEVICE ("cpu" or "cuda"), inputs(), run(*inputs) and
expected(*inputs).
"""

import importlib.util
import json
import os
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
from warpgym import extension, wire


def close(mine, expected):
    if isinstance(expected, (tuple, list)):
        assert len(mine) == len(expected)
        for one, other in zip(mine, expected, strict=True):
            close(one, other)
    elif isinstance(expected, torch.Tensor):
        loose = expected.dtype in (torch.float16, torch.bfloat16)
        torch.testing.assert_close(
            mine, expected, rtol=2e-2 if loose else 1e-4, atol=2e-2 if loose else 1e-4
        )
    else:
        assert mine == expected, (mine, expected)


def check(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if module.DEVICE == "cuda" and not torch.cuda.is_available():
        return False
    torch.manual_seed(1)
    with torch.no_grad():
        values = [
            value.to(module.DEVICE) if isinstance(value, torch.Tensor) else value
            for value in module.inputs()
        ]
        expected = module.expected(*values)
        close(module.run(*values), expected)
    return True


def main():
    channel = wire.Channel(int(sys.argv[1]))
    os.chdir(sys.argv[2])
    asked = [0]
    kept = extension.build

    def build(*arguments):
        asked[0] += 1
        return kept(*arguments)

    extension.build = build
    extension.install(channel)
    for name in sys.argv[3:]:
        result = {"file": Path(name).name, "error": None, "ran": False}
        try:
            result["ran"] = check(Path(name))
        except Exception as error:
            result["error"] = f"{type(error).__name__}: {error}"
        result["asked"] = asked[0]
        asked[0] = 0
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
