"""`warpgym eval`, as the scripts here start it, and busy processes beside it."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
WARPGYM = os.environ.get("TEST_WARPGYM", str(ROOT / "warpgym"))
BUSY = "while :; do :; done"


def command(*arguments, settings=()):
    sets = [word for setting in settings for word in ("-s", setting)]
    return [WARPGYM, "eval", "--json", "--quiet", *sets, *map(str, arguments)]


def verdicts_of(text):
    return [json.loads(line) for line in text.splitlines()]


def evaluate(*arguments, settings=(), env=None):
    """The verdicts, in the order in which they were made."""
    done = subprocess.run(
        command(*arguments, settings=settings),
        capture_output=True,
        text=True,
        timeout=3600,
        check=False,
        env=env,
    )
    if done.returncode not in (0, 1):
        sys.exit(done.stderr)
    return verdicts_of(done.stdout)


def write_batch(folder, tasks):
    """[(problem, file name, text)] as a batch; its path, and the candidates' in that order."""
    paths = [folder / f"{index:03}_{name}" for index, (_, name, _) in enumerate(tasks)]
    batch = folder / "batch.jsonl"
    with batch.open("w", encoding="utf-8") as out:
        for (problem, _, text), path in zip(tasks, paths, strict=True):
            path.write_text(text, encoding="utf-8")
            out.write(json.dumps({"problem": str(problem), "candidate": str(path)}) + "\n")
    return batch, paths


@contextlib.contextmanager
def busy(count):
    """So many processes that do nothing else."""
    running = [subprocess.Popen(["sh", "-c", BUSY]) for _ in range(count)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()
