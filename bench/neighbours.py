"""Candidates that cost much, and honest ones beside them: how long do those wait?"""

import pathlib
from typing import NamedTuple

RELU = """#include <stddef.h>
void solution(const float *x, float *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] > 0 ? x[i] : 0;
}
"""

TEMPLATE_BOMB = '''import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

CODE = """
template<int A, unsigned long B> struct T {
    static constexpr long v = T<A - 1, B * 2>::v + T<A - 1, B * 2 + 1>::v;
};
template<unsigned long B> struct T<0, B> { static constexpr long v = B + %d; };
long f() { return T<30, 0>::v; }
"""

class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        for i in range(50):
            try:
                load_inline(f"e{i}", CODE % i, functions=["f"], no_implicit_headers=True)
            except Exception:
                pass

    def forward(self, x):
        return torch.softmax(x, 1)
'''

SLOW_LOAD = """import time
import torch
from torch import nn

class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        end = time.monotonic() + 600
        while time.monotonic() < end:
            pass

    def forward(self, x):
        return torch.softmax(x, 1)
"""

SLOW_CALL = """#include <stddef.h>
#include <time.h>
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}
void solution(const float *x, float *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] > 0 ? x[i] : 0;
    for (double end = now() + 300; n > {least} && now() < end;)
        ;
}
"""

MANY_THREADS = """#include <pthread.h>
#include <stddef.h>
static void *spin(void *unused)
{
    for (volatile int i = 0;; i = i + 1)
        ;
    return unused;
}
void solution(const float *x, float *y, size_t n)
{
    pthread_t thread;
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] > 0 ? x[i] : 0;
    for (int i = 0; n > 500000 && i < 64; i++)
        pthread_create(&thread, NULL, spin, NULL);
    if (n > 500000)
        spin(NULL);
}
"""

# Making inputs is off the clock; the first three calls are not timed.
OFF_THE_CLOCK = """import gc
import time

import torch
from torch import nn

class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        if self.calls == 4:
            child = next(thing for thing in gc.get_objects() if type(thing).__name__ == "Child")
            made = child.get_inputs

            def dawdle(*arguments):
                end = time.monotonic() + 300
                while time.monotonic() < end:
                    pass
                return made(*arguments)

            child.get_inputs = dawdle
        return torch.softmax(x, 1)
"""


class Hostile(NamedTuple):
    name: str
    problem: str
    file: str
    text: str
    settings: tuple = ()


LONG = ("run.timeout_ms=10m", "run.load_timeout_ms=10m", "compile.total_ms=10m")
HOSTILE = [
    Hostile("builds", "torch/softmax_rows", "bomb.py", TEMPLATE_BOMB, LONG),
    Hostile("load", "torch/softmax_rows", "load.py", SLOW_LOAD, LONG),
    Hostile("check", "relu", "check.c", SLOW_CALL.replace("{least}", "0"), LONG),
    Hostile("time", "relu", "time.c", SLOW_CALL.replace("{least}", "500000"), LONG),
    Hostile("threads", "relu", "threads.c", MANY_THREADS, LONG),
    Hostile("inputs", "torch/softmax_rows", "inputs.py", OFF_THE_CLOCK, LONG),
]


def write_honest(folder, word, count):
    """So many texts that nothing has compiled before."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True)
    for i in range(count):
        (folder / f"{i}.c").write_text(f"// {word} {i}\n{RELU}", encoding="utf-8")
