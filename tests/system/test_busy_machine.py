"""Candidates on a processor that others use, too: a time limit is for what a candidate does, not
for how long it waits for a processor."""

import contextlib
import os
import subprocess

import pytest
from support import PASSED, SOME_FAILED, SPIN, statuses, write, write_lines

OTHERS = 6
SETTINGS = ("-s", "run.timeout_ms=1s", "--no-timing")

# Its first call takes half a second of a processor.
WORKS = """#include <stddef.h>
#include <time.h>
static double used(void)
{
    struct timespec at;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
    return at.tv_sec + at.tv_nsec * 1e-9;
}
void solution(const float *x, float *y, size_t n)
{
    static int called;
    for (double start = used(); !called && used() - start < 0.5;)
        ;
    called = 1;
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] > 0 ? x[i] : 0;
}
"""

SLEEPS = """#include <stddef.h>
#include <unistd.h>
void solution(const float *x, float *y, size_t n)
{
    (void)x, (void)y, (void)n;
    sleep(600);
}
"""

# Eight threads keep the processor from the first one.
CROWDS = """#include <pthread.h>
#include <stddef.h>
static void *spin(void *none)
{
    for (volatile int i = 1; i;)
        ;
    return none;
}
void solution(const float *x, float *y, size_t n)
{
    pthread_t threads[8];
    (void)x, (void)y, (void)n;
    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], 0, spin, 0);
    spin(0);
}
"""


@contextlib.contextmanager
def others(processor):
    pinned = ["taskset", "-c", str(processor), "sh", "-c", "while :; do :; done"]
    running = [subprocess.Popen(pinned) for _ in range(OTHERS)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


@pytest.fixture
def one_processor():
    """The words with which a command keeps to it."""
    processor = min(os.sched_getaffinity(0))
    return processor, ("taskset", "-c", str(processor))


def test_it_waits_for_a_processor(warpgym, tmp_path, one_processor):
    processor, wrapper = one_processor
    source = write(tmp_path / "works.c", WORKS)
    with others(processor):
        run = warpgym.eval(*SETTINGS, "--problem", "relu", source, wrapper=wrapper, expect=PASSED)
    assert run.verdict["correct"]


def test_it_is_not_the_machine_that_is_slow(warpgym, tmp_path, one_processor):
    _, wrapper = one_processor
    spins = SPIN.replace("size_t rows, size_t cols", "size_t n").replace(
        "(void)rows, (void)cols", "(void)n"
    )
    texts = {"sleeps": SLEEPS, "spins": spins, "crowds": CROWDS}
    tasks = [
        {"problem": "relu", "candidate": str(write(tmp_path / f"{name}.c", text))}
        for name, text in texts.items()
    ]
    batch = write_lines(tmp_path / "batch.jsonl", tasks)
    run = warpgym.eval(*SETTINGS, batch, wrapper=wrapper, expect=SOME_FAILED)
    assert statuses(run.verdicts) == ["timeout"] * len(texts)
