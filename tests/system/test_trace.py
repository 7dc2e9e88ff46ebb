"""Whose machine code is, when Python has it loaded: libwarpgym_trace.so in a Python process, with a
CUPTI of ours (tests/fake/cupti.c) in place of a GPU."""

import json
import sys

import pytest
from support import CHECKOUT, captured

LOADER = """
import ctypes, json, os, struct, sys
from warpgym.trace import Trace

library, cupti, case = sys.argv[1:]
trace, fake = Trace(library, cupti), ctypes.CDLL(cupti)
assert os.environ["CUDA_INJECTION64_PATH"] == library
assert ctypes.CDLL(library).InitializeInjection() == 1  # the driver's part
trace.snapshot()
image = ctypes.create_string_buffer(b"machine code, made at run time" * 9999)  # in memory
module, function = ctypes.c_void_p(16), ctypes.c_void_p(32)
MODULE_LOAD_DATA, GET_FUNCTION, LAUNCH = 19, 23, 307


def call(number, *arguments):
    words = (ctypes.c_void_p * len(arguments))(*arguments)
    fake.fake_cupti_call(number, words, 0, 77)


def load():
    call(MODULE_LOAD_DATA, ctypes.addressof(module), ctypes.addressof(image))


def load_without_the_lock():
    ctypes.CDLL(None)  # CDLL lets go of Python's lock around a call, PyDLL does not
    load()


def load_with_the_lock():
    global fake
    fake = ctypes.PyDLL(cupti)
    load()


def run(path):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write("def go(work):\\n    return work()\\n")
    scope = {}
    exec(compile(open(path).read(), path, "exec"), scope)
    scope["go"](load_with_the_lock if case.startswith("locked ") else load_without_the_lock)


run(os.path.join(os.getcwd(), case.removeprefix("locked ")))
name = ctypes.create_string_buffer(b"kernel")
call(GET_FUNCTION, ctypes.addressof(function), module, ctypes.addressof(name))
kernel = ctypes.create_string_buffer(216)
struct.pack_into("<I", kernel, 0, 10)
struct.pack_into("<QQ", kernel, 16, 1000, 3000)
struct.pack_into("<I", kernel, 92, 77)
struct.pack_into("<Q", kernel, 104, ctypes.addressof(name))


def work():
    call(LAUNCH, function)
    fake.fake_cupti_kernel(kernel)
    return "done"


stream = os.memfd_create("trace")
with trace.recording(stream):
    result = work()
assert result == "done"
data = os.pread(stream, 1 << 24, 0)
header = struct.unpack_from("<6I4Q", data)
sources, records = header[2:4]
assert records == 1
record = struct.unpack_from("<3Q20I", data, 56 + 16 * sources)
origin, evidence = struct.unpack_from("<2I", data, 56 + 16 * record[5])
print(json.dumps({"origin": origin, "evidence": evidence, "match": record[6]}))
"""

UNKNOWN, LIBRARY, GENERATED, OWN = range(4)
BY_LOADER, MATCH_LAUNCH = 2, 1

# Where the Python that is on the stack lies, and whose the code is.
CASES = {
    "candidate.py": OWN,
    "locked candidate.py": OWN,
    "triton/runtime/jit.py": OWN,
    "torch/_dynamo/eval_frame.py": GENERATED,
    "locked torch/_dynamo/eval_frame.py": GENERATED,
    "torch/_inductor/compile_fx.py": GENERATED,
    # What a candidate may have written itself, and had these compile.
    "torch/_inductor/runtime/triton_heuristics.py": OWN,
    "torch/_inductor/async_compile.py": OWN,
}


LIBRARY_PATH = CHECKOUT / "build" / "libwarpgym_trace.so"
FAKE_PATH = CHECKOUT / "build" / "tests" / "fake" / "cupti.so"


def run(script, case, folder, **environment):
    path = folder / "loader.py"
    path.write_text(script)
    return captured(
        [sys.executable, path, LIBRARY_PATH, FAKE_PATH, case],
        cwd=folder,
        env={"PYTHONPATH": str(CHECKOUT / "python"), "PYTHONDONTWRITEBYTECODE": "1", **environment},
    )


@pytest.mark.parametrize("case", CASES)
def test_python_passes_on(case, tmp_path):
    done = run(LOADER, case, tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found == {"origin": CASES[case], "evidence": BY_LOADER, "match": MATCH_LAUNCH}


@pytest.mark.parametrize(
    "environment, says",
    [
        ({"FAKE_CUPTI_VERSION": "17"}, "CUPTI is older than CUDA 11.8's (CUPTI's error 0)"),
        ({"FAKE_CUPTI_FAIL": "cuptiGetVersion"}, "may be using it (CUPTI's error 999)"),
        ({"FAKE_CUPTI_FAIL": "cuptiActivityEnable"}, "CUPTI refuses: another tool may be using it"),
        ({"FAKE_CUPTI_FAIL": "cuptiActivityFlushAll"}, "CUPTI refuses"),
    ],
)
def test_unavailable(environment, says, tmp_path):
    done = run(LOADER, "candidate.py", tmp_path, **environment)
    assert done.returncode == 1
    assert "warpgym.trace.Unavailable: " in done.stderr
    assert says in done.stderr
