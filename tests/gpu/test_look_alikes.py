"""Kernels that use a structure, and their cheating twins, on a real GPU: `make test-gpu`. The pairs
are those of tests/system/look_alikes.py."""

import json
import subprocess
import sys

import corpus
import pytest

sys.path.append(str(corpus.ROOT / "tests" / "system"))
import look_alikes  # noqa: E402
import pairs  # noqa: E402

REASON = corpus.why_not("python", "no Python with PyTorch")
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory):
    batch = pairs.write(tmp_path_factory.mktemp("look_alikes"), look_alikes.TABLE)
    command = [corpus.WARPGYM, "eval", "--json", "--quiet", "--no-timing", "--jobs", "4"]
    command += ["-s", "torch.device=cuda", batch]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return pairs.sorted_out(found, look_alikes.TABLE)


@pytest.mark.parametrize("row", look_alikes.TABLE)
def test_pair(verdicts, row):
    honest, cheat = (verdicts[row, kind] for kind in pairs.KINDS)
    assert honest["status"] == "passed", honest["error"]
    assert cheat["status"] == "wrong", cheat["status"]
