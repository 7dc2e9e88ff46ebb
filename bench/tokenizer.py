#!/usr/bin/env python3
"""Encoding on one core, beside the `tokenizers` library on the same texts: our own sources and
pages, cut into pieces of 4 KiB, and a text of other scripts.

    make build/tests/lm/tokenizer_probe && .venv-gym/bin/python bench/tokenizer.py
"""

import os
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ |= {"TOKENIZERS_PARALLELISM": "false", "RAYON_NUM_THREADS": "1"}
ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "lm"))

import tokenizer_checks as checks  # noqa: E402

PIECE = 4096
SECONDS = 2
VOCAB = 30_000


def texts():
    files = [*ROOT.glob("src/**/*.[ch]"), *ROOT.glob("docs/*/*.md"), *ROOT.glob("tests/**/*.py")]
    return "\n".join(file.read_text() for file in sorted(files))


def pieces(text):
    return [text[at : at + PIECE] for at in range(0, len(text), PIECE)]


def theirs(tokenizer, lines):
    best, end = float("inf"), time.monotonic() + SECONDS
    while time.monotonic() < end:
        began = time.perf_counter()
        for line in lines:
            tokenizer.encode(line, add_special_tokens=False)
        best = min(best, time.perf_counter() - began)
    return best


def ours(file, lines):
    data = b"".join(struct.pack("<I", len(t)) + t for t in (line.encode() for line in lines))
    command = [checks.PROBE, file, "special", "time"]
    run = subprocess.run(command, input=data, capture_output=True, check=True)
    size, seconds = run.stdout.split()
    return int(size), float(seconds)


def main():
    drawn = checks.Lines(3)
    written, other = texts(), "\n".join(drawn.cjk() for _ in range(30_000))
    with tempfile.TemporaryDirectory() as place:
        for family, make in checks.FAMILIES.items():
            tokenizer = make(vocab=VOCAB, texts=pieces(written))
            file = Path(place) / "tokenizer.json"
            file.write_text(tokenizer.to_str())
            for name, lines in (("sources", pieces(written)), ("scripts", pieces(other))):
                size, seconds = ours(file, lines)
                their = theirs(tokenizer, lines)
                print(
                    f"{family:7} {name}  {size / 1e6:5.1f} MB  "
                    f"ours {size / seconds / 1e6:6.1f} MB/s  "
                    f"tokenizers {size / their / 1e6:5.1f} MB/s",
                    flush=True,
                )


if __name__ == "__main__":
    main()
