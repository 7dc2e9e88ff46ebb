"""What people and models get wrong: one clear line with the place, the right status, no traces."""

import json
import os
import re
from pathlib import Path

import pytest
from support import (
    INFRASTRUCTURE,
    PASSED,
    PYTHON,
    SOME_FAILED,
    USAGE,
    fast,
    kernelbench_module,
    problem_folder,
    statuses,
    write,
    write_lines,
    wrong,
)

SOFTMAX_YAML = (problem_folder("softmax") / "problem.yaml").read_text(encoding="utf-8")
MINE_YAML = SOFTMAX_YAML.replace("name: softmax", "name: mine")

# --- the command line ----------------------------------------------------------------------------

# arguments, part of the one line on standard error; {fast} is a candidate that would pass
USAGE_ERRORS = {
    "nothing": (["eval"], "name at least one candidate"),
    "missing file": (["eval", "-p", "softmax", "nowhere.c"], "nowhere.c: no such file"),
    "missing batch": (["eval", "nowhere.jsonl"], "nowhere.jsonl: no such file"),
    "a directory without candidates": (["eval", "-p", "softmax", "."], "holds no candidate"),
    "no problem named": (["eval", "{fast}"], "fast.c: names no problem"),
    "unknown problem": (["eval", "-p", "sofmax", "{fast}"], "did you mean 'softmax'?"),
    "unlike any problem": (["eval", "-p", "qqqqqqqq", "{fast}"], "unknown problem 'qqqqqqqq'"),
    "unknown option": (["eval", "--jbos", "2", "{fast}"], "did you mean '--jobs'?"),
    "unknown setting": (
        ["eval", "-s", "run.timout_ms=1s", "{fast}"],
        "did you mean 'run.timeout_ms'?",
    ),
    "no value": (["eval", "-s", "run.timeout_ms", "{fast}"], "'run.timeout_ms' is not KEY=VALUE"),
    "bad unit": (["eval", "-s", "run.timeout_ms=1w", "{fast}"], "is not a duration"),
    "out of bounds": (["eval", "-s", "timing.target=7", "{fast}"], "is outside 0.0001 to 1"),
    "no jobs": (["eval", "--jobs", "0", "{fast}"], "--jobs: '0' is not a whole number from 1"),
    "words for jobs": (["eval", "--jobs", "many", "{fast}"], "--jobs: 'many'"),
    "no such roots": (["eval", "--problems", "nowhere", "{fast}"], "'nowhere' is not a directory"),
    "an empty root": (["eval", "--problems", ".", "-p", "x", "{fast}"], "holds no problem"),
    "out in no directory": (["eval", "-p", "softmax", "--out", "no/where", "{fast}"], "no/where"),
    "no such python": (
        ["eval", "-s", "python.path=/nowhere", "-p", "softmax", "{fast}"],
        "python.path: '/nowhere' cannot be executed",
    ),
    "unknown command": (["evl"], "did you mean 'eval'?"),
    "half a command": (["problem"], "needs one of: list, show, new, check"),
    "unknown problem to show": (["problem", "show", "sofmax"], "did you mean 'softmax'?"),
    "unknown problem to check": (["problem", "check", "sofmax"], "did you mean 'softmax'?"),
    "nothing to check": (["problem", "check"], "name a problem"),
    "unknown option of doctor": (["doctor", "--jsn"], "did you mean '--json'?"),
}


@pytest.mark.parametrize("name", USAGE_ERRORS)
def test_usage(warpgym, name):
    arguments, part = USAGE_ERRORS[name]
    warpgym.refused(part, *[word.format(fast=fast("softmax")) for word in arguments])


GROUPS = {
    "problem": ["list", "show", "new", "check"],
    "jobs": ["list", "show", "watch", "cancel"],
    "config": ["init", "show", "check"],
}


@pytest.mark.parametrize("group", GROUPS)
def test_help_of_groups(warpgym, group):
    for words in ([group, "--help"], [group, "-h"], ["help", group]):
        run = warpgym(*words)
        assert run.status == PASSED and not run.err, run
        rows = [line.split(maxsplit=2) for line in run.out.splitlines()]
        assert [row[:2] for row in rows] == [[group, word] for word in GROUPS[group]]
        assert all(len(row) == 3 for row in rows)
    word = GROUPS[group][0]
    assert warpgym("help", group, word).out == warpgym(group, word, "--help").out
    assert warpgym("help", group, "nothing").status == USAGE


def test_help_of_commands(warpgym):
    assert warpgym("help", "eval").out == warpgym("eval", "--help").out
    assert warpgym("help").out == warpgym("--help").out
    assert "did you mean 'eval'?" in warpgym("help", "evl").complaint


# variables, part of the one line
ENVIRONMENT_ERRORS = {
    "unknown setting": ({"WARPGYM_RUN_TIMEOT_MS": "3"}, "did you mean 'WARPGYM_RUN_TIMEOUT_MS'?"),
    "bad value": ({"WARPGYM_RUN_THREADS": "two"}, "WARPGYM_RUN_THREADS: "),
    "missing file": ({"WARPGYM_CONFIG": "/nowhere.yaml"}, "/nowhere.yaml"),
    "unknown key": ({"WARPGYM_CONFIG": "unknown.yaml"}, "unknown.yaml:2:"),
    "malformed": ({"WARPGYM_CONFIG": "malformed.yaml"}, "malformed.yaml:1:"),
}


@pytest.mark.parametrize("name", ENVIRONMENT_ERRORS)
def test_environment(warpgym, tmp_path, name):
    write(tmp_path / "unknown.yaml", "run:\n  timeout: 3\n")
    write(tmp_path / "malformed.yaml", "run: {,\n")
    variables, part = ENVIRONMENT_ERRORS[name]
    warpgym.refused(part, "settings", environment=variables)


def test_unreadable_file(warpgym, tmp_path):
    candidate = write(tmp_path / "closed.c", "int a;")
    candidate.chmod(0)
    become = ()
    if os.geteuid() == 0:  # root reads everything unless it gives that up
        become = ("setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all")
        candidate.chmod(0o000)
        os.chown(candidate, 1000, 1000)
    run = warpgym.eval("-p", "softmax", candidate, wrapper=become, expect=USAGE)
    assert "closed.c: " in run.complaint and "ermission" in run.complaint


# --- files that are not what they should be ------------------------------------------------------

# problem.yaml of a directory called "mine", place and part of the one line
YAML_ERRORS = {
    "open quote": ('name: mine\nsummary: "x\n', "problem.yaml:2:"),
    "open list": ("name: mine\narguments: [\n", "problem.yaml:"),
    "empty": ("", "problem.yaml"),
    "not a mapping": ("- 1\n", "problem.yaml:1:1"),
    "other name": (SOFTMAX_YAML, "problem.yaml:1:7: name is 'softmax'"),
    "unknown key": (MINE_YAML.replace("check:", "chekc:"), "'check'"),
    "unknown fill": (MINE_YAML.replace("fill: normal", "fill: norml"), ":6:"),
    "unknown size": (MINE_YAML.replace("shape: [rows, cols], f", "shape: [row, cols], f"), ":6:"),
    "not UTF-8": (b"name: mine\nsummary: \xff\n", "UTF-8"),
}


@pytest.mark.parametrize("name", YAML_ERRORS)
def test_malformed_problem(warpgym, tmp_path, name):
    text, part = YAML_ERRORS[name]
    write(tmp_path / "mine" / "problem.yaml", text)
    write(tmp_path / "mine" / "reference.c", "")
    run = warpgym.eval("--problem", "./mine", fast("softmax"), expect=USAGE)
    assert "mine/problem.yaml" in run.complaint and part in run.complaint


def test_broken_reference_is_no_fault_of_the_candidate(warpgym, tmp_path):
    folder = tmp_path / "mine"
    write(folder / "problem.yaml", MINE_YAML)
    write(folder / "reference.c", "void solution(void) { return 1 +; }\n")
    run = warpgym.eval("--problem", folder, fast("softmax"), expect=INFRASTRUCTURE)
    assert run.verdict["status"] == "infrastructure_error"
    message = run.verdict["error"]["message"]
    assert "reference.c:1:" in message and "\n" not in message


def test_crashing_reference_is_no_fault_of_the_candidate(warpgym, tmp_path):
    folder = tmp_path / "mine"
    write(folder / "problem.yaml", MINE_YAML)
    write(folder / "reference.c", "void solution(void) { __builtin_trap(); }\n")
    batch = write_lines(
        tmp_path / "batch.jsonl",
        [{"problem": name, "candidate": str(fast("softmax"))} for name in ("./mine", "softmax")],
    )
    run = warpgym.eval(batch, expect=INFRASTRUCTURE)
    assert statuses(run.verdicts) == ["infrastructure_error", "passed"]
    assert "the reference of problem mine failed" in run.verdicts[0]["error"]["message"]


def test_malformed_lines_do_not_stop_a_batch(warpgym, tmp_path):
    good = json.dumps({"problem": "relu", "candidate": str(fast("relu"))})
    lines = {
        1: (good, None),
        2: (good[:-1], "not JSON"),
        3: ("word", "not JSON"),
        4: ('{"problem": "relu"}', 'give either "candidate"'),
        5: ('{"problem": "relu", "candidat": "x.c"}', "did you mean 'candidate'?"),
        6: ('{"problem": "relu", "candidate": 7}', "'candidate'"),
        7: (good.replace('"relu"', '"relv"'), "did you mean 'relu'?"),
        8: ('{"problem": "relu", "candidate": "nowhere.c"}', "nowhere.c: no such file"),
        9: ("[]", "'problem' is missing"),
        10: ('{"candidate": "x.c"}', "'problem' is missing"),
        11: (good, None),
    }
    batch = write(tmp_path / "batch.jsonl", "\n".join(text for text, _ in lines.values()))
    run = warpgym.eval(batch, expect=USAGE)
    assert statuses(run.verdicts) == ["passed", "passed"]
    wanted = [(number, part) for number, (_, part) in lines.items() if part]
    for line, (number, part) in zip(run.err.splitlines(), wanted, strict=True):
        assert line.startswith(f"warpgym: {batch}:{number}:") and part in line


def test_batch_that_is_no_text(warpgym, tmp_path):
    run = warpgym.eval(write(tmp_path / "batch.jsonl", b"\xff\xfe\x00\n"), expect=USAGE)
    assert "batch.jsonl:1" in run.complaint


# --- hostile and broken candidates ---------------------------------------------------------------

HEAD = """#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
void solution(const float *x, float *y, size_t rows, size_t cols)
{
    (void)x, (void)y, (void)rows, (void)cols;
"""
DEEP = """#include <stddef.h>
static volatile int more = 1;
static __attribute__((noinline)) int deep(int n)
{
    volatile char frame[4096];
    frame[n % 4096] = 1;
    return more ? deep(n + 1) + frame[n % 4096] : 0;
}
void solution(const float *x, float *y, size_t rows, size_t cols)
{
    (void)x, (void)rows, (void)cols;
    y[0] = deep(0);
}
"""
# Whether a source stands for itself, or is the body of `solution`.
HAS_FUNCTION = re.compile(r"^(static )?(void|int) \w+( =|\()", re.MULTILINE)
REFUSED = {"wrong", "runtime_error", "violation", "timeout", "out_of_memory"}
# source (a body, where it has no solution of its own), statuses it may get, part of the message
CANDIDATES = {
    "empty": ("", {"compile_error"}, "is empty"),
    "only blanks": (" \n\n", {"load_error", "compile_error"}, ""),
    "10 MB": (b"/" * 10_000_000, {"compile_error"}, "larger than the 1048576"),
    "not UTF-8": (
        b"/* \xff\xfe */\nvoid solution(void) {}\n",
        {"load_error", "wrong", "violation", "runtime_error"},
        "",
    ),
    "NUL": (b"int a;\n\0int b;\n", {"compile_error"}, ":2"),
    "no entry point": ("void solve(void) {}\n", {"load_error"}, "no function `solution`"),
    "static entry point": ("static void solution(void) {}\n", {"load_error"}, "not static"),
    "entry point is data": ("int solution = 3;\n", {"load_error", "runtime_error"}, ""),
    "missing symbol": (
        "void f(void);\nvoid solution(void) { f(); }\n",
        {"compile_error", "load_error"},
        "f",
    ),
    "syntax": ("void solution(void)\n{\n    int 3;\n}\n", {"compile_error"}, ":3"),
    "wrong arguments": ("void solution(int n, int *y) { *y = n; }\n", REFUSED, ""),
    "infinite loop": ("for (volatile int i = 1; i;)\n;", {"timeout"}, ""),
    "fork bomb": ("for (;;)\nif (fork() == 0) for (;;) fork();", REFUSED, ""),
    "memory bomb": (
        "for (;;) { char *p = malloc(1 << 25); if (!p) abort(); memset(p, 1, 1 << 25); }",
        {"out_of_memory", "runtime_error"},
        "",
    ),
    "output flood": (
        "static char b[65536];\nfor (int i = 1;; i = 3 - i)\nif (write(i, b, sizeof b) < 0) break;",
        REFUSED,
        "",
    ),
    "segfault": ("*(volatile int *)8 = 1;", {"runtime_error"}, "SIGSEGV"),
    "abort": ("abort();", {"runtime_error"}, "134"),
    "exit": ("exit(0);", {"runtime_error", "violation"}, ""),
    "stack overflow": (DEEP, {"runtime_error"}, "SIGSEGV"),
    "deadlock": (
        "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\nfor (;;) pthread_mutex_lock(&m);",
        {"timeout"},
        "",
    ),
    "kills its parent": ("kill(getppid(), SIGKILL);", REFUSED, ""),
    "kills its group": ("kill(0, SIGKILL);", REFUSED, ""),
    "kills every process": ("kill(-1, SIGKILL);", REFUSED, ""),
    "stops itself": ("raise(SIGSTOP);", REFUSED, ""),
}


@pytest.fixture(scope="module")
def hostile(module_warpgym):
    """One batch; after each of them comes an honest one."""
    folder = module_warpgym.folder
    lines = []
    for name, (source, _, _) in CANDIDATES.items():
        plain = isinstance(source, bytes) or not source.strip() or HAS_FUNCTION.search(source)
        text = source if plain else HEAD + source + "\n}\n"
        path = write(folder / (name.replace(" ", "_") + ".c"), text)
        lines.append({"problem": "softmax", "candidate": path.name})
        lines.append({"problem": "softmax", "candidate": str(fast("softmax"))})
    settings = ("run.timeout_ms=1s", "run.memory_bytes=192MiB")
    options = [word for setting in settings for word in ("--set", setting)]
    return module_warpgym.eval(*options, write_lines(folder / "batch.jsonl", lines))


@pytest.mark.parametrize("name", CANDIDATES)
def test_hostile_candidate(hostile, name):
    _, allowed, part = CANDIDATES[name]
    verdict = hostile.verdicts[2 * list(CANDIDATES).index(name)]
    assert verdict["status"] in allowed, verdict["error"]
    assert not verdict["correct"]
    message = verdict["error"]["message"]
    assert message and "\n" not in message and part in message


def test_hostile_candidates_leave_others_intact(hostile):
    assert hostile.status == SOME_FAILED, hostile.err
    assert hostile.err == ""
    assert statuses(hostile.verdicts)[1::2] == ["passed"] * len(CANDIDATES)


@pytest.mark.parametrize("problem", ["softmax", "conv2d_bias_relu"])
@pytest.mark.parametrize("name", ["softmax.cl", "x.txt", "a.c.orig"])
def test_ending_of_no_language(warpgym, tmp_path, problem, name):
    run = warpgym.eval("-p", problem, write(tmp_path / name, fast("softmax").read_text()))
    assert run.status == SOME_FAILED and run.verdict["status"] == "unsupported"
    message = run.verdict["error"]["message"]
    assert f"no language here has files that end in .{name.split('.')[-1]}" in message
    assert name in message and "python" in message


@pytest.mark.parametrize("name", ["softmax", "a.dir/softmax"])
def test_no_ending_is_c(warpgym, tmp_path, name):
    candidate = write(tmp_path / name, fast("softmax").read_text())
    assert warpgym.eval("-p", "softmax", candidate).verdict["status"] == "passed"


def test_source_for_the_other_format(warpgym, tmp_path):
    module = write(tmp_path / "answer.py", "class ModelNew:\n    pass\n")
    run = warpgym.eval("-p", "softmax", module, expect=SOME_FAILED)
    assert run.verdict["status"] in ("compile_error", "unsupported", "load_error")
    assert "answer.py" in run.verdict["error"]["message"]


# --- machines that lack something ----------------------------------------------------------------


@pytest.mark.parametrize("named", ["/nowhere/cc", "no-such-compiler"])
def test_missing_compiler(warpgym, named):
    run = warpgym.eval(
        "-p", "softmax", fast("softmax"), environment={"WARPGYM_CC": named}, expect=INFRASTRUCTURE
    )
    assert run.verdict["status"] == "infrastructure_error"
    assert "compiler" in run.verdict["error"]["message"]


@pytest.mark.parametrize("path", ["", "/nowhere", None])
def test_empty_path(warpgym, path):
    """The usual places are looked at even so; where they hold nothing, it is said."""
    run = warpgym.eval("-p", "softmax", fast("softmax"), environment={"PATH": path})
    if Path("/usr/bin/gcc").exists() or Path("/usr/bin/cc").exists():
        assert run.status == PASSED, run
    else:
        assert "no C compiler" in run.verdict["error"]["message"]


def unwritable(tmp_path):
    """A cache that is not writable, even for root."""
    return write(tmp_path / "file", "") / "cache"


def test_unwritable_cache_costs_only_the_cache(warpgym, tmp_path):
    setting = f"cache.directory={unwritable(tmp_path)}"
    run = warpgym.eval(
        "--set", setting, "-p", "softmax", fast("softmax"), wrong("softmax"), expect=SOME_FAILED
    )
    assert statuses(run.verdicts) == ["passed", "wrong"]
    (line,) = run.err.splitlines()
    assert "builds are not kept" in line and str(tmp_path) in line


def test_full_cache_costs_only_the_cache(warpgym, full_disk):
    setting = f"cache.directory={full_disk}"
    run = warpgym.eval(
        "--set", setting, "-p", "softmax", fast("softmax"), wrong("softmax"), expect=SOME_FAILED
    )
    assert statuses(run.verdicts) == ["passed", "wrong"]


def test_full_output_is_said(warpgym):
    run = warpgym.eval(
        "--out", "/dev/full", "-p", "softmax", fast("softmax"), expect=INFRASTRUCTURE
    )
    assert statuses(run.verdicts) == ["passed"]
    assert "/dev/full" in run.err and "No space left" in run.err


def test_full_temporary_directory_is_said(warpgym, full_disk, tmp_path):
    """Nothing can be compiled: that is no candidate's fault."""
    (full_disk / "filler").write_bytes(b"x" * 8192)
    run = warpgym.eval(
        "-p",
        "softmax",
        write(tmp_path / "new.c", f"/* {tmp_path} */ void solution(void) {{}}\n"),
        environment={"TMPDIR": str(full_disk)},
        expect=INFRASTRUCTURE,
    )
    assert run.verdict["status"] == "infrastructure_error"
    assert str(full_disk) in run.verdict["error"]["message"]


def mixed_batch(folder):
    """A torch problem between two native ones."""
    write(folder / "suites" / "torch" / "square.py", kernelbench_module())
    write(folder / "square.py", kernelbench_module().replace("Model", "ModelNew"))
    return write_lines(
        folder / "batch.jsonl",
        [
            {"problem": "softmax", "candidate": str(fast("softmax"))},
            {"problem": "torch/square", "candidate": "square.py"},
            {"problem": "softmax", "candidate": str(wrong("softmax"))},
        ],
    )


def test_without_torch_native_ones_are_still_judged(warpgym, tmp_path):
    run = warpgym.eval(
        "--problems",
        "suites",
        mixed_batch(tmp_path),
        environment={"WARPGYM_PYTHON": "/nowhere/python3"},
        expect=INFRASTRUCTURE,
    )
    assert statuses(run.verdicts) == ["passed", "infrastructure_error", "wrong"], run
    assert "WARPGYM_PYTHON" in run.verdicts[1]["error"]["message"]


def test_python_without_torch_native_ones_are_still_judged(warpgym, tmp_path):
    python = write(tmp_path / "python3", "#!/bin/sh\nexit 1\n")
    python.chmod(0o755)
    run = warpgym.eval(
        "--problems", "suites", mixed_batch(tmp_path), environment={"WARPGYM_PYTHON": str(python)},
        expect=INFRASTRUCTURE,
    )
    assert statuses(run.verdicts) == ["passed", "infrastructure_error", "wrong"], run
    assert str(python) in run.verdicts[1]["error"]["message"]


# --- torch candidates ----------------------------------------------------------------------------

MODULE = """import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width))

    def forward(self, x):
        {}
"""
# source (or the body of forward), statuses it may get, part of the message
TORCH_CANDIDATES = {
    "no class": ("x = 1\n# class", {"load_error"}, "ModelNew"),
    "syntax": ("class ModelNew\n", {"load_error", "compile_error"}, ":1: "),
    "import of nothing": ("import no_such_module  # class", {"load_error"}, "no_such_module"),
    "raises": ('raise ValueError("no idea")', {"runtime_error"}, "no idea"),
    "raises lines": ('raise ValueError("one\\ntwo")', {"runtime_error"}, "one"),
    "infinite loop": ("while True:\n            pass", {"timeout"}, ""),
    "deep recursion": ("return self.forward(x)", {"runtime_error"}, "recursion"),
    "memory bomb": ("return torch.zeros(1 << 40)", {"out_of_memory", "runtime_error"}, ""),
    "exit": ("raise SystemExit(0)", {"runtime_error", "violation"}, ""),
    "os._exit": ("__import__('os')._exit(0)", {"runtime_error", "violation"}, ""),
    "segfault": ("__import__('ctypes').string_at(8)", {"runtime_error"}, ""),
    "None": ("return None", {"wrong", "runtime_error", "violation"}, ""),
    "wrong shape": ("return x[1:]", {"wrong"}, ""),
}


@pytest.fixture(scope="module")
def hostile_torch(module_warpgym):
    if not PYTHON.exists():
        pytest.skip("no Python with PyTorch: `make setup` makes one")
    folder = module_warpgym.folder / "modules"
    write(folder / "suites" / "torch" / "square.py", kernelbench_module())
    honest = write(folder / "honest.py", kernelbench_module().replace("Model", "ModelNew"))
    lines = []
    for name, (source, _, _) in TORCH_CANDIDATES.items():
        text = source if "class" in source else MODULE.format(source)
        path = write(folder / (name.replace(" ", "_") + ".py"), text)
        lines.append({"problem": "torch/square", "candidate": path.name})
    lines.append({"problem": "torch/square", "candidate": honest.name})
    return module_warpgym.eval(
        "--set",
        "run.timeout_ms=1s",
        "--problems",
        folder / "suites",
        write_lines(folder / "batch.jsonl", lines),
    )


@pytest.mark.parametrize("name", TORCH_CANDIDATES)
def test_hostile_torch_candidate(hostile_torch, name):
    _, allowed, part = TORCH_CANDIDATES[name]
    verdict = hostile_torch.verdicts[list(TORCH_CANDIDATES).index(name)]
    assert verdict["status"] in allowed, verdict["error"]
    message = verdict["error"]["message"]
    assert message and "\n" not in message and part in message


def test_hostile_torch_candidates_leave_others_intact(hostile_torch):
    assert hostile_torch.status == SOME_FAILED, hostile_torch.err
    assert statuses(hostile_torch.verdicts)[-1] == "passed"
