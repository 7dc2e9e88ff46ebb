"""Languages from outside: honest and hostile programs behind the fence, and OpenCL C on PoCL."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from support import INFRASTRUCTURE, PASSED, ROOT, USAGE, fast, write

HERE = Path(__file__).parent
CC = os.environ.get("WARPGYM_CC", "cc")


def describe(folder, program, *words, extra=""):
    run = ", ".join([program, *words])
    return write(folder / "two.yaml", f"name: two\nendings: [.two, .deux]\nrun: [{run}]\n{extra}")


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("program") / "language_child"
    source = HERE / "language_child.c"
    subprocess.run([CC, "-O1", f"-I{ROOT}/include", "-o", path, source], check=True)
    return path


@pytest.fixture
def language(tmp_path, program):
    folder = tmp_path / "languages"
    folder.mkdir()
    shutil.copy(program, folder)
    describe(folder, "./language_child")
    return folder


def judge(warpgym, language, text, *more, timing=False, name="candidate.two"):
    candidate = write(warpgym.folder / name, text + "\n")
    flags = ["--json", "--quiet"] + ([] if timing else ["--no-timing"])
    return warpgym(
        *("eval", *flags, "-s", f"languages.path={language}", "-s", "run.timeout_ms=2s"),
        *("-s", "run.load_timeout_ms=5s", *more, "--problem", "relu", candidate),
    )


def test_honest(warpgym, language):
    run = judge(warpgym, language, "honest", timing=True)
    assert run.status == PASSED, run
    verdict = run.verdict
    assert verdict["candidate"]["language"] == "two"
    assert verdict["timing"]["speedup"] > 0
    native = warpgym.eval("--problem", "relu", fast("relu")).verdict
    assert verdict["environment"]["sandbox"] == native["environment"]["sandbox"], (
        "a language from outside gets the fence of C"
    )


@pytest.mark.parametrize(
    ("text", "status", "says"),
    [
        ("wrong", "wrong", "y"),
        ("overrun", "wrong", "y"),
        ("scribble", "wrong", "x"),
        ("refuse", "compile_error", "cannot be refused more"),
        ("hang", "timeout", "longer"),
        ("silent at open", "timeout", "loading took longer"),
        ("exit", "runtime_error", "status 3"),
        ("exit at open", "runtime_error", "status 3"),
        ("crash", "runtime_error", "SIGSEGV"),
        ("odd failure", "runtime_error", "xxxx"),
        ("garbage", "violation", "protocol"),
        ("garbage at open", "violation", "protocol"),
        ("done at map", "violation", "protocol"),
        ("short", "violation", "protocol"),
        ("long", "violation", "protocol"),
        ("claims outputs", "violation", "protocol"),
        ("opened again", "violation", "belong"),
        ("chatter", "violation", "sent a message"),
        ("close", "violation", "closed"),
        ("claims many", "passed", None),
        ("escape", "passed", None),
    ],
)
def test_untrusted_messages_are_checked(warpgym, language, text, status, says):
    run = judge(warpgym, language, text, "-s", "check.trials=1")
    verdict = run.verdict
    assert verdict["status"] == status, run
    assert says is None or says in verdict["error"]["message"], run


@pytest.mark.parametrize(
    ("word", "says"),
    [("silent", "HELLO"), ("exit", "status 3"), ("garbage", "HELLO"), ("version", "version 7")],
)
def test_a_program_that_does_not_start_is_an_infrastructure_error(warpgym, language, word, says):
    describe(language, "./language_child", word)
    run = judge(warpgym, language, "honest", "-s", "run.load_timeout_ms=1s")
    assert run.status == INFRASTRUCTURE
    assert run.verdict["status"] == "infrastructure_error"
    assert says in run.verdict["error"]["message"], run


def test_compiling_beforehand(warpgym, language):
    script = """#!/bin/sh
grep -q honest "$1" || { echo "$1:1:1: error: no"; exit 1; }
cp "$1" "$2"
"""
    compiler = write(language / "compiler", script)
    compiler.chmod(0o755)
    readable = "[/bin, /usr/bin]"
    describe(language, "./language_child", extra=f"compile: [./compiler]\nreadable: {readable}\n")
    for cached in (False, True):
        verdict = judge(warpgym, language, "honest").verdict
        assert verdict["status"] == "passed", verdict
        assert verdict["environment"]["build_cached"] is cached
        verdict = judge(warpgym, language, "bad").verdict
        assert verdict["status"] == "compile_error", verdict
        assert verdict["error"]["message"] == "candidate.two:1:1: error: no"


def test_directories_and_formats(warpgym, language):
    candidates = warpgym.folder / "candidates"
    write(candidates / "a.two", "honest\n")
    write(candidates / "b.deux", "honest\n")
    run = warpgym.eval("-s", f"languages.path={language}", "--problem", "relu", candidates)
    assert [verdict["status"] for verdict in run.verdicts] == ["passed", "passed"]
    run = warpgym.eval("--problem", "relu", candidates)
    assert run.status == USAGE, "without the language these are no candidates"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("name: two\nendings: [.three]\n", "there is another language 'two'"),
        ("name: three\nendings: [.three, .deux]\n", "another language has the ending .deux"),
    ],
)
def test_two_that_clash(warpgym, language, text, says):
    write(language / "zwei.yaml", text + "run: [./language_child]\n")
    for command in (["languages"], ["eval", "-p", "relu", language]):
        run = warpgym(*command, "-s", f"languages.path={language}")
        assert run.status == USAGE and says in run.err


def test_doctor_lists_them(warpgym, language):
    warpgym.environment["WARPGYM_PYTHON_PATH"] = "/bin/false"
    setting = ("-s", f"languages.path={language}")
    found = json.loads(warpgym("doctor", "--json", *setting).out)
    assert found["languages"] == {"two": str(language / "language_child")}
    assert str(language / "language_child") in warpgym("doctor", *setting).out


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("name: two\nendings: [.two]\n", "two.yaml:1:1: the key 'run' is missing"),
        ("name: c\nendings: [.two]\nrun: [./x]\n", "two.yaml:1:7: 'c' is one of warpgym's own"),
        ("name: two\nendings: [.py]\nrun: [./x]\n", "two.yaml:2:10: .py is a file of"),
        ("name: two\nendings: [.two]\nrun: [x]\n", "'x' must be an absolute path"),
        ("name: two\nendings: [.two]\nrun: [./x]\n", "there is no program"),
        ("name: two\nendings: [.two]\nrun: [./x]\nrum: 1\n", "did you mean 'run'"),
    ],
)
def test_bad_descriptions(warpgym, language, text, says):
    write(language / "two.yaml", text)
    run = judge(warpgym, language, "honest")
    assert run.status in (USAGE, INFRASTRUCTURE)
    assert says in run.complaint


# --- OpenCL C on PoCL ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def opencl(tmp_path_factory):
    """The example, built without a checkout: from the header alone."""
    folder = tmp_path_factory.mktemp("opencl") / "examples" / "opencl"
    shutil.copytree(ROOT / "examples" / "opencl", folder)
    shutil.copytree(ROOT / "include", folder.parents[1] / "include")
    (folder / "opencl_child").unlink(missing_ok=True)
    if not Path("/etc/OpenCL/vendors/pocl.icd").exists():
        pytest.skip("there is no PoCL here: apt-get install pocl-opencl-icd ocl-icd-opencl-dev")
    subprocess.run(["make", "-s", "-C", folder], check=True)
    return folder


def judge_opencl(warpgym, opencl, problem, candidate, *more):
    return warpgym(
        *("eval", "--json", "--quiet", "-s", f"languages.path={opencl}"),
        *(*more, "--problem", problem, candidate),
    )


@pytest.mark.parametrize("name", ["relu", "softmax"])
def test_opencl_passes_and_is_timed(warpgym, opencl, name):
    run = judge_opencl(warpgym, opencl, name, opencl / f"{name}.cl")
    assert run.status == PASSED, run
    assert run.verdict["candidate"]["language"] == "opencl"
    assert run.verdict["timing"]["candidate"]["median"] > 0
    native = warpgym.eval("--problem", "relu", fast("relu")).verdict["environment"]["sandbox"]
    assert run.verdict["environment"]["sandbox"]["missing"] == native["missing"]


RELU_CL = """__kernel void solution(__global const float *x, __global float *y, ulong n)
{
    size_t i = get_global_id(0);
    %s
}
"""


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        ("if (i < n) y[i] = x[i] < 0 ? -x[i] : x[i];", "wrong", "y"),
        ("if (i < n) y[i] = z[i];", "compile_error", "candidate.cl:4:23: error: "),
        ("while (i < 1) { *(volatile __global float *)y = 0; }", "timeout", "longer"),
    ],
)
def test_opencl_fails(warpgym, opencl, body, status, says):
    candidate = write(warpgym.folder / "candidate.cl", RELU_CL % body)
    run = judge_opencl(warpgym, opencl, "relu", candidate, "-s", "run.timeout_ms=2s")
    assert run.verdict["status"] == status, run
    assert says in run.verdict["error"]["message"], run


def test_opencl_kernel_of_another_name(warpgym, opencl):
    text = (RELU_CL % "y[i] = n;").replace("solution", "other")
    candidate = write(warpgym.folder / "candidate.cl", text)
    run = judge_opencl(warpgym, opencl, "relu", candidate)
    assert run.verdict["status"] == "load_error", run
