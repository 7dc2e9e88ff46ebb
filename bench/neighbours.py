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
]


def write_honest(folder, word, count):
    """So many texts that nothing has compiled before."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True)
    for i in range(count):
        (folder / f"{i}.c").write_text(f"// {word} {i}\n{RELU}", encoding="utf-8")
