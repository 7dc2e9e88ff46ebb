"""`warpgym eval`, as the scripts here start it, and busy processes beside it."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
WARPGYM = os.environ.get("TEST_WARPGYM", str(ROOT / "warpgym"))
BUSY = "while :; do :; done"
PROGRESS_S = float(os.environ.get("BENCH_PROGRESS_S", "10"))
LIMIT_S = float(os.environ.get("BENCH_TIMEOUT_S", "3600"))
STOP_S = 5


class Cut(SystemExit):
    """Not all was judged: it was stopped, or failed. Uncaught, a script ends with this line."""

    def __init__(self, verdicts, count, why=""):
        super().__init__(f"cut after {len(verdicts)} of {count}{why and ': ' + why}")
        self.verdicts = verdicts


def command(*arguments, settings=()):
    sets = [word for setting in settings for word in ("-s", setting)]
    return [WARPGYM, "eval", "--json", "--quiet", *sets, *map(str, arguments)]


def verdicts_of(text):
    return [json.loads(line) for line in text.splitlines()]


@contextlib.contextmanager
def interruptible():
    """Ctrl-C and SIGTERM raise KeyboardInterrupt, once: `timeout` sends its signal twice."""
    numbers = (signal.SIGINT, signal.SIGTERM)

    def interrupt(*_):
        for number in numbers:
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in numbers}
    try:
        yield
    finally:
        for number, action in before.items():
            signal.signal(number, action)


def written(file):
    """Whole lines so far. The writer shares the file's position, which stays where it is."""
    text = os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0)
    return text[: text.rfind(b"\n") + 1].decode("utf-8")


def follow(run, out, count):
    """Until it has ended."""
    end_s = time.monotonic() + LIMIT_S
    while time.monotonic() < end_s:
        with contextlib.suppress(subprocess.TimeoutExpired):
            run.wait(timeout=PROGRESS_S)
            return
        print(f"{written(out).count(chr(10))} of {count} judged", file=sys.stderr, flush=True)
    raise KeyboardInterrupt


def stop(run):
    """Ctrl-C and `timeout` have reached it, too, and a second signal would end it at once: it gets
    one only where it goes on."""
    for number in (signal.SIGINT, signal.SIGKILL):
        with contextlib.suppress(subprocess.TimeoutExpired):
            run.wait(timeout=STOP_S)
            return
        run.send_signal(number)
    run.wait()


def evaluate(*arguments, settings=(), env=None, count="all", log=None):
    """The verdicts, in the order in which they were made; Cut where there are fewer than wanted,
    or the judge itself failed. `count`: how many are wanted, for people to read; `log`: a file for
    what is logged."""
    words = command(*arguments, settings=settings)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as own, interruptible():
        log = log or own
        with subprocess.Popen(words, stdout=out, stderr=log, env=env) as run:
            try:
                follow(run, out, count)
            except KeyboardInterrupt:
                stop(run)
                raise Cut(verdicts_of(written(out)), count) from None
        verdicts = verdicts_of(written(out))
        if run.returncode not in (0, 1):
            raise Cut(verdicts, count, written(log).strip())
        return verdicts


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
