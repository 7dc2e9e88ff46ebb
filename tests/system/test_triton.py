"""Triton that compiles for a GPU from within a process that may start none: the hooks of
python/warpgym/triton_build.py against the judge's own builders (tests/judge/build_judge.c). No GPU
is needed: what is compared is the machine code."""

import importlib.util
import json
import os
import shutil
import socket
import stat
import struct
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import pytest
from support import CHECKOUT, ROOT, captured

sys.path.insert(0, str(ROOT / "tests" / "extension"))
sys.path.insert(0, str(ROOT / "python"))
import harness
from warpgym import wire

HERE = Path(__file__).parent
LIBRARY = CHECKOUT / "build" / "libwarpgym_child.so"
SPEC = importlib.util.find_spec("triton")
TRITON = Path(SPEC.origin).parent if SPEC else None
PTXAS = TRITON / "backends/nvidia/bin/ptxas" if TRITON else None

pytestmark = [
    pytest.mark.skipif(not PTXAS or not PTXAS.exists(), reason="no Triton for NVIDIA's GPUs"),
    pytest.mark.skipif(
        not harness.JUDGE.exists(), reason=f"{harness.JUDGE} was not built: make tests"
    ),
]
SCHEME = sysconfig.get_default_scheme().replace("posix_local", "posix_prefix")
INCLUDE = Path(sysconfig.get_paths(SCHEME)["include"])
HEADERS = (INCLUDE / "Python.h").exists()
SHT_NOBITS = 8
PTX = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry nothing() { ret; }
"""


@pytest.fixture(scope="module")
def place():
    """Not below a folder that only its owner may enter: the sandbox's user reads Python from it."""
    directory = Path(tempfile.mkdtemp(prefix="warpgym-triton-"))
    yield directory
    shutil.rmtree(directory)


def ask(channel, request):
    """(the bytes built or None, what was said)"""
    text = request if isinstance(request, bytes) else json.dumps(request).encode()
    with tempfile.TemporaryFile() as file:
        file.write(text)
        file.seek(0)
        socket.send_fds(channel, [wire.HEAD.pack(wire.BUILD, 0)], [file.fileno()])
    answer, descriptors, _, _ = socket.recv_fds(channel, 65536, 1)
    words = answer[wire.BUILT_HEAD.size :].split(b"\0", 1)[0].decode()
    if wire.BUILT_HEAD.unpack_from(answer)[1]:
        return None, words
    with os.fdopen(descriptors[0], "rb") as built:
        return built.read(), words


def run_child(*arguments, descriptors=()):
    run = captured(
        [sys.executable, HERE / "triton_child.py", *map(str, arguments)],
        env={"PYTHONPATH": f"{ROOT / 'python'}:{HERE}", "PATH": "/usr/bin:/bin", "CC": "gcc"},
        pass_fds=descriptors,
    )
    assert run.returncode == 0, run.stdout + run.stderr


def fake_driver(directory):
    """A libcuda.so.1 with every name that Triton's module wants, so that it can be loaded."""
    nvidia = TRITON / "backends" / "nvidia"
    directory.mkdir(exist_ok=True)
    include = [f"-I{nvidia / 'include'}", f"-I{INCLUDE}"]
    object_file = directory / "driver.o"
    command = ["gcc", "-c", "-fPIC", "-w", *include, "-o", object_file, nvidia / "driver.c"]
    subprocess.run(command, check=True)
    wanted = subprocess.run(["nm", "-u", object_file], check=True, capture_output=True, text=True)
    names = [word for word in wanted.stdout.split() if word.startswith("cu")]
    assert names
    source = "".join(f"int {name}(void) {{ return 1; }}\n" for name in names)
    command = ["gcc", "-shared", "-fPIC", "-w", "-Wl,-soname,libcuda.so.1", "-x", "c", "-"]
    out = ["-o", directory / "libcuda.so.1"]
    subprocess.run([*command, *out], input=source, text=True, check=True)
    object_file.unlink()


@pytest.fixture(scope="module")
def built(place):
    """Directories with the kernels by stock Triton, and twice by ours; and the judge's cache."""
    stock, cold, warm, cache = made = [place / name for name in ("stock", "cold", "warm", "cache")]
    for directory in made:
        directory.mkdir()
    run_child("stock", stock)
    for directory in (cold, warm) if HEADERS else ():
        fake_driver(directory)
    with harness.judge(cache) as (channel, _):
        number = channel.fileno()
        run_child("sandboxed", LIBRARY, number, cold, warm, descriptors=[number])
    return made


def names(directory):
    return {path.stem for path in directory.glob("*.cubin")}


def text(directory, name, kind="ptx"):
    return (directory / f"{name}.{kind}").read_text()


def sections(path):
    """Of an ELF file, by name. ptxas looks at the files that .debug_line names, for their times."""
    data = path.read_bytes()
    start, count, names_at = (
        *struct.unpack_from("<Q", data, 40),
        *struct.unpack_from("<HH", data, 60),
    )
    heads = [struct.unpack_from("<IIQQQQ", data, start + 64 * index) for index in range(count)]
    strings = heads[names_at][4]
    return {
        data[strings + name : data.index(b"\0", strings + name)].decode(): data[at : at + size]
        for name, kind, _, _, at, size in heads
        if kind not in (0, SHT_NOBITS)
    }


def test_machine_code_is_the_same_as_tritons_own(built):
    stock, cold, *_ = built
    assert names(stock) == names(cold)
    same = [name for name in names(cold) if text(stock, name) == text(cold, name)]
    assert len(same) >= 10  # of matrix products, Triton makes other PTX in each process
    for name in same:
        mine, theirs = (sections(directory / f"{name}.cubin") for directory in (cold, stock))
        assert mine.keys() == theirs.keys()
        assert any(section.startswith(".text.") for section in mine)
        for section in mine:
            assert mine[section] == theirs[section] or "debug" in section, (name, section)


def test_builds_are_cached(built):
    _, cold, warm, cache = built
    first = [path for path in cache.rglob("*") if path.is_file()]
    before = (cold / "done").stat().st_mtime_ns
    again = [path for path in first if path.stat().st_mtime_ns > before]
    other = [name for name in names(cold) if text(cold, name) != text(warm, name)]
    assert len(first) - len(again) >= 10
    assert len(again) <= len(other)
    for name in names(cold) - set(other):
        code = [(directory / f"{name}.cubin").read_bytes() for directory in (cold, warm)]
        assert code[0] == code[1], name


def test_a_ptxas_error_is_tritons_own_error(built):
    for directory in built[:3]:
        words = text(directory, "bad_assembly", "error")
        assert words.startswith("PTXASError"), words
        assert "Not a name of any known instruction: 'no'" in words, words
        assert "Ptx assembly aborted due to errors" in words, words


def test_an_option_that_names_a_file_is_not_passed_on(built):
    words = text(built[1], "bad_option", "error")
    assert words.startswith("PTXASError"), words
    assert "ptxas is not given the option '-optf' here" in words


@pytest.mark.skipif(not HEADERS, reason="no headers of Python")
def test_the_module_that_loads_kernels_loads_itself(built):
    for directory in built[1:3]:
        assert "load_binary" in json.loads((directory / "driver.json").read_text())


GOOD = {"kind": "ptx", "tool": "ptxas", "options": ["--gpu-name=sm_90a"], "source": PTX}
REQUESTS = [
    (b"not json", "the build request:1:"),
    (b"[]", "kind"),
    ({}, "kind"),
    ({"kind": "other"}, "nothing of kind"),
    ({"kind": "ptx"}, "source"),
    (GOOD | {"source": 5}, "source"),
    (GOOD | {"source": "x" * (8 * 1024 * 1024 + 1)}, "longer than it may be"),
    (GOOD | {"tool": "../../../bin/sh"}, "no tool that compiles PTX"),
    (GOOD | {"tool": ""}, "no tool that compiles PTX"),
    (GOOD | {"options": "-v"}, "options"),
    (GOOD | {"options": [["-v"]]}, "the options of ptxas"),
    (GOOD | {"options": ["-v"] * 33}, "the options of ptxas"),
    (GOOD | {"options": ["-o", "/tmp/x"]}, "not given the option '-o'"),
    (GOOD | {"options": ["--gpu-name=sm_90a --version"]}, "not given 'sm_90a --version'"),
    (GOOD | {"source": "nonsense"}, "ptxas"),
    ({"kind": "launcher", "source": "#include </etc/passwd>\n"}, "/etc/passwd"),
    ({"kind": "launcher", "source": "x" * (1024 * 1024 + 1)}, "longer than it may be"),
]


def test_hostile_requests_are_refused_with_a_reason(place):
    with harness.judge(place / "hostile") as (channel, _):
        for request, expected in REQUESTS:
            built, words = ask(channel, request)
            assert built is None, request
            assert expected in words, (str(request)[:200], words)
            assert "root:" not in words
        built, words = ask(channel, GOOD)
        assert built and built.startswith(b"\x7fELF"), words


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (["{triton}", "/nowhere"], "need Python's headers, and there is no /nowhere/Python.h"),
        (["/nowhere", "{include}"], "no CUDA headers: there is no /nowhere/backends"),
        (["", "{include}"], "has no Triton"),
    ],
)
def test_missing_packages_are_named_in_one_sentence(tmp_path, said, expected):
    if "{include}" in said and not HEADERS:
        pytest.skip("no headers of Python")
    lines = [line.format(triton=TRITON, include=INCLUDE) for line in said]
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\n" + "".join(f"echo '{line}'\n" for line in lines))
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    with harness.judge(tmp_path / "cache", python=python) as (channel, _):
        built, words = ask(channel, {"kind": "launcher", "source": "int x;"})
    assert built is None
    assert expected in words
