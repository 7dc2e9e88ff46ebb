"""What candidates print: kept in the verdict, bounded and clean, and no print is an error."""

import pytest
from support import PASSED, SOME_FAILED, kernelbench_module, write

MOST = 4096  # setting check.output_bytes
MEMORY = 65536  # SANDBOX_OUTPUT_BYTES

RELU = "for (size_t i = 0; i < n; i++) y[i] = x[i] > 0 ? x[i] : 0;"
NATIVE = f"""#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int calls;
void solution(const float *x, float *y, size_t n) {{ calls++; PRINT; {RELU} }}
"""


def native(
    warpgym, prints, *more, expect=PASSED, name="candidate.c", head="", timing=False
):
    path = write(warpgym.folder / name, head + NATIVE.replace("PRINT", prints))
    flags = [] if timing else ["--no-timing"]
    words = ["eval", "--json", "--quiet", *flags, *more, "--problem", "relu", path]
    return warpgym(*words, expect=expect).verdict


def test_printf(warpgym):
    verdict = native(
        warpgym, 'printf("call %d, ", calls); fprintf(stderr, "n=%zu\\n", n)'
    )
    lines = verdict["output"]["text"].splitlines()
    assert lines[0] == "call 1, n=1" and len(lines) == verdict["correctness"]["trials"]
    assert verdict["output"]["cut_bytes"] == 0


def test_nothing(warpgym):
    assert "output" not in native(warpgym, "")
    assert "output" not in native(warpgym, 'puts("x")', "-s", "check.output_bytes=0")


def test_timed_calls_are_not_kept(warpgym):
    verdict = native(warpgym, 'printf("%d ", calls)', timing=True)
    calls = verdict["output"]["text"].split()
    checked = native(warpgym, 'printf("%d ", calls)')["output"]["text"].split()
    assert verdict["timing"]["candidate"]["n"] > 0 and calls == checked


def test_stream(warpgym):
    head = "#include <iostream>\n"
    prints = 'std::cout << "n is " << n << " "; std::cerr << "e\\n"'
    text = NATIVE.replace("void solution", 'extern "C" void solution')
    path = write(warpgym.folder / "candidate.cpp", head + text.replace("PRINT", prints))
    run = warpgym(
        "eval", "--json", "--no-timing", "--problem", "relu", path, expect=PASSED
    )
    assert run.verdict["output"]["text"].startswith("n is 1 e\n")


@pytest.mark.parametrize(
    ("prints", "error"),
    [
        ('if (calls == 2) { printf("n=%zu", n); *(volatile int *)8 = 0; }', "crash"),
        ('if (calls == 2) { printf("n=%zu", n); _exit(3); }', "crash"),
        ('if (calls == 2) { printf("n=%zu", n); for (;;) ; }', "timeout"),
    ],
)
def test_it_ends(warpgym, prints, error):
    verdict = native(warpgym, prints, "-s", "run.timeout_ms=1s", expect=SOME_FAILED)
    assert verdict["error"]["class"] == error and verdict["output"]["text"] == "n=17"


def test_load(warpgym):
    head = '#include <stdio.h>\n__attribute__((constructor)) static void f(void) { puts("up"); }\n'
    assert native(warpgym, "", head=head)["output"]["text"] == "up\n"


STRANGE = [
    ('fwrite("a\\0b\\033[2J\\xff\\xc3\\xa9", 1, 10, stdout)', "a?b?[2J?é"),
    (
        "char *big = malloc(4 << 20); memset(big, 'z', 4 << 20); write(1, big, 4 << 20)",
        "z" * MOST,
    ),
    ('for (int i = 0; i < 100000; i++) printf("%06d\\n", i)', "000000\n000001\n"),
    ('lseek(1, 9000, SEEK_SET); write(1, "x", 1)', "?" * MOST),
    ('fcntl(1, F_SETFL, O_NONBLOCK); dprintf(2, "ok")', "ok"),
]


@pytest.mark.parametrize(("prints", "begins"), STRANGE)
def test_strange(warpgym, prints, begins):
    output = native(warpgym, f"if (calls == 1) {{ {prints}; }}")["output"]
    assert output["text"].startswith(begins) and len(output["text"].encode()) <= MOST
    assert len(output["text"].encode()) + output["cut_bytes"] <= MEMORY


def test_flood_is_counted(warpgym):
    more = ("-s", "check.output_bytes=10")
    output = native(warpgym, 'for (int i = 0; i < 9999; i++) puts("0123456")', *more)[
        "output"
    ]
    assert output == {"text": "0123456\n01", "cut_bytes": MEMORY - 10}


def test_fresh_for_each_process(warpgym):
    """Nothing of an earlier candidate is in it, and it is no other's memory."""
    reads = (
        "char byte = 0; struct { char c[64]; } first = {0}; pread(1, &first, 64, 0);"
        "if (calls == 1) { if (first.c[0] || pread(1, &byte, 1, 60000) != 1 || byte) abort();"
        "memset(first.c, 's', 64); pwrite(1, &first, 64, 60000); write(1, first.c, 64); }"
    )
    for _ in range(2):
        assert native(warpgym, reads)["output"]["text"] == "s" * 64


# --- PyTorch -------------------------------------------------------------------------------------


def torch(warpgym, body, *more, expect=PASSED, top=""):
    pytest.importorskip("torch")
    problem = write(warpgym.folder / "problem.py", kernelbench_module())
    text = kernelbench_module().split("def get_inputs")[0].replace("Model", "ModelNew")
    lines = text.splitlines()
    at = next(i for i, line in enumerate(lines) if "def forward" in line)
    lines[at + 1 : at + 1] = [f"        {line}" for line in body.splitlines()]
    path = write(warpgym.folder / "candidate.py", top + "\n".join(lines) + "\n")
    words = [
        "eval",
        "--json",
        "--quiet",
        "--no-timing",
        *more,
        "--problem",
        problem,
        path,
    ]
    return warpgym(*words, expect=expect).verdict


def test_print(warpgym):
    body = "import sys\nprint('shape', tuple(x.shape), end=' ')\nprint('\\ud800', file=sys.stderr)"
    verdict = torch(warpgym, body, top="print('imported')\n")
    assert verdict["output"]["text"].startswith("imported\nshape (")
    assert (
        verdict["output"]["text"].count("\\ud800\n") == verdict["correctness"]["trials"]
    )


def test_print_and_raise(warpgym):
    body = "print('here', end='')\nraise RuntimeError('no')"
    verdict = torch(warpgym, body, expect=SOME_FAILED)
    assert (
        verdict["error"]["class"] == "runtime_error"
        and verdict["output"]["text"] == "here"
    )


def test_print_without_end(warpgym):
    """Beyond the bound, too, a print is no error; nor is one of bytes, or of C's."""
    body = (
        "import sys, ctypes\nprint('y' * (4 << 20))\nprint('more', flush=True)\n"
        "sys.stdout.buffer.write(b'\\xff')\nsys.stderr.write('e')\nctypes.CDLL(None).puts(b'c')"
    )
    output = torch(warpgym, body)["output"]
    assert output == {"text": "y" * MOST, "cut_bytes": MEMORY - MOST}


def test_print_of_c(warpgym):
    body = "import ctypes\nprint('a')\nctypes.CDLL(None).printf(b'b%d\\n', 1)"
    assert torch(warpgym, body)["output"]["text"].startswith("a\nb1\na\nb1\n")


def test_shown(warpgym):
    path = write(
        warpgym.folder / "candidate.c", NATIVE.replace("PRINT", 'printf("%zu\\n", n)')
    )
    run = warpgym("eval", "--no-timing", "--problem", "relu", path, expect=PASSED)
    assert "\nIt printed:\n1\n17\n" in run.out
