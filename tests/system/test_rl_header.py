"""include/warpgym_rl.h in C and C++: the guide's program, built and run, and what the library shows
and needs."""

import re
import subprocess

from support import CHECKOUT, PASSED, ROOT, captured

GUIDE = ROOT / "docs" / "guide" / "rl-library.md"
LIBRARY = CHECKOUT / "build" / "libwarpgym_rl.so"
STRICT = ["-std=c11", "-pedantic", "-Wall", "-Wextra", "-Werror"]


def test_the_program_of_the_guide(tmp_path):
    (program,) = re.findall(r"```c file=step.c\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.S)
    source, binary = tmp_path / "step.c", tmp_path / "step"
    source.write_text(program, encoding="utf-8")
    link = ["-L", LIBRARY.parent, "-lwarpgym_rl", f"-Wl,-rpath,{LIBRARY.parent}"]
    build = ["cc", *STRICT, "-I", ROOT / "include", source, *link, "-o", binary]
    built = captured(build)
    assert built.returncode == PASSED, built.stderr
    run = captured([binary])
    assert run.stdout.split() == ["1.1547", "-0.5773", "-0.5773", "0.0000"]


def test_the_header_is_for_cxx_too(tmp_path):
    source = tmp_path / "step.cpp"
    source.write_text("#include <warpgym_rl.h>\nint main() { return warpgym_rl_version() - 1; }\n")
    checked = captured(
        ["c++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I"]
        + [ROOT / "include", source]
    )
    assert checked.returncode == PASSED, checked.stderr


def test_the_library_is_alone():
    """It shows its own functions, and needs no GPU, no HTTP and no model."""
    shown = subprocess.run(
        ["nm", "-D", "--defined-only", LIBRARY], capture_output=True, text=True, check=True
    )
    names = [line.split()[-1] for line in shown.stdout.splitlines()]
    header = (ROOT / "include" / "warpgym_rl.h").read_text(encoding="utf-8")
    declared = re.findall(r"^(?:int|const char \*)\s*(warpgym_rl_\w+)\(", header, re.M)
    assert sorted(names) == sorted(declared)
    needed = subprocess.run(["readelf", "-d", LIBRARY], capture_output=True, text=True, check=True)
    libraries = set(re.findall(r"NEEDED.*\[(\w+)", needed.stdout))
    assert libraries <= {"libjansson", "libm", "libc", "ld"}
