"""`warpgym problem`: list, show, check."""

import json

import pytest
from support import (
    CHECKOUT,
    PASSED,
    PYTHON,
    SOME_FAILED,
    USAGE,
    kernelbench_module,
    problem_folder,
    write,
)

PROBLEMS = CHECKOUT / "problems"
NATIVE = sorted(path.parent.name for path in PROBLEMS.glob("native/*/problem.yaml"))
TORCH = sorted(f"torch/{path.stem}" for path in PROBLEMS.glob("torch/*.py"))


def lines(run):
    assert run.status == PASSED, run
    return [json.loads(line) for line in run.out.splitlines()]


def test_list_names_every_problem(warpgym):
    found = lines(warpgym("problem", "list", "--json"))
    assert [entry["id"] for entry in found] == NATIVE + TORCH
    for entry in found:
        assert set(entry) == {"id", "format", "path", "hash", "summary", "error"}
        assert entry["error"] is None and len(entry["hash"]) == 64 and entry["summary"]


def test_list_as_a_table(warpgym):
    run = warpgym("problem", "list")
    assert run.status == PASSED and "\x1b" not in run.out
    head, *rows = run.out.splitlines()
    assert head.split()[:2] == ["problem", "format"]
    assert [row.split()[0] for row in rows] == NATIVE + TORCH


def test_list_of_a_kernelbench_checkout_comes_by_number(warpgym, tmp_path):
    for name in ("level1/10_Ten.py", "level1/2_Two.py", "level2/1_One.py", "level1/notes.py"):
        write(tmp_path / "bench" / "KernelBench" / name, kernelbench_module())
    found = lines(warpgym("problem", "list", "--json", "--problems", "bench"))
    levels = [entry["id"] for entry in found if entry["id"].startswith("level")]
    assert levels == ["level1/2", "level1/10", "level2/1"]


def test_kernelbench_root_is_searched(warpgym, tmp_path):
    write(tmp_path / "bench" / "KernelBench" / "level1" / "2_Two.py", kernelbench_module())
    root = {"KERNELBENCH_ROOT": str(tmp_path / "bench")}
    ids = [entry["id"] for entry in lines(warpgym("problem", "list", "--json", environment=root))]
    assert sorted(ids) == sorted([*NATIVE, *TORCH, "level1/2"])
    root = {"KERNELBENCH_ROOT": str(tmp_path / "none")}
    warpgym.refused("$KERNELBENCH_ROOT", "problem", "list", environment=root)


def test_list_says_which_problem_is_broken(warpgym, tmp_path):
    write(tmp_path / "mine" / "native" / "mine" / "problem.yaml", "name: mine\nnonsense: 1\n")
    found = {e["id"]: e for e in lines(warpgym("problem", "list", "--json", "--problems", "mine"))}
    assert "problem.yaml:" in found["mine"]["error"] and found["mine"]["hash"] is None
    assert found["softmax"]["error"] is None


def test_first_root_wins(warpgym, tmp_path):
    folder = tmp_path / "mine" / "native" / "relu"
    for name in ("problem.yaml", "reference.c"):
        write(folder / name, (problem_folder("relu") / name).read_bytes())
    found = {e["id"]: e for e in lines(warpgym("problem", "list", "--json", "--problems", "mine"))}
    assert found["relu"]["path"].startswith("mine/")
    assert list(found) == NATIVE + TORCH


def test_show_native(warpgym):
    run = warpgym.ok("problem", "show", "softmax")
    for part in (
        "softmax — Softmax of each row of a matrix.",
        "void solution(const float *x, float *y, size_t rows, size_t cols)",
        "rows=256 cols=1024",
        "rows=64 cols=1000",
        "1e-05 relative",
        (problem_folder("softmax") / "reference.c").read_text(encoding="utf-8"),
    ):
        assert part in run.out


def test_show_torch(warpgym):
    run = warpgym.ok("problem", "show", "torch/relu_bias")
    assert "format     torch" in run.out and "class Model(nn.Module):" in run.out


@pytest.mark.parametrize("words", [[], ["relu", "softmax"]])
def test_show_wants_one(warpgym, words):
    warpgym.refused("name one problem", "problem", "show", *words)


def test_check_of_sound_problems(warpgym):
    run = warpgym.ok("problem", "check", "--verbose", "softmax", "gemm_i8")
    assert "\x1b" not in run.out
    assert "softmax" in run.out and "gemm_i8" in run.out and run.out.count("sound") == 2
    for attempt in ("zeros", "a constant (the answer's mean)"):
        assert attempt in run.out
    assert "accepted" not in run.out


def test_check_as_json(warpgym):
    (found,) = lines(warpgym("problem", "check", "--json", "softmax"))
    assert found["problem"] == "softmax" and found["gamed"] is False and found["error"] is None
    assert found["deterministic"] is True and 0 <= found["own_error_in_tolerances"] <= 1
    assert len(found["attempts"]) > 3
    for attempt in found["attempts"]:
        assert set(attempt) == {
            *("attempt", "code", "trials", "let_through", "error_in_tolerances", "gain"),
        }
        assert attempt["let_through"] < attempt["trials"]


# name: (fill of x, tolerance, body of the reference, what is accepted)
GAMED = {
    "all zeros": ("constant(0)", "{relative: 1.0e-5}", "y[i] = x[i];", "zeros"),
    "a wide tolerance": ('"uniform(-1, 1)"', "{absolute: 10}", "y[i] = x[i];", "zeros"),
    "a constant": ("normal", "{relative: 1.0e-5}", "y[i] = 3 + 0 * x[i];", "a constant"),
    "a copy": ("normal", "{relative: 1.0e-5}", "y[i] = x[i];", "`x`"),
}


def make_problem(folder, fill, tolerance, body):
    write(
        folder / "problem.yaml",
        f"""name: {folder.name}
summary: A problem that is too easy.
signature: void solution(const float *x, float *y, size_t n)
arguments:
  x: {{role: in,  type: f32, shape: [n], fill: {fill}}}
  y: {{role: out, type: f32, shape: [n]}}
  n: {{role: size}}
tolerance: {tolerance}
check: [{{n: 1}}, {{n: 17}}, {{n: 1000}}]
time:  [{{n: 100000}}]
work:  {{flops: n, bytes: 8*n}}
""",
    )
    write(
        folder / "reference.c",
        "#include <stddef.h>\n\nvoid solution(const float *x, float *y, size_t n)\n{\n"
        f"    for (size_t i = 0; i < n; i++)\n        {body}\n}}\n",
    )
    return folder


@pytest.mark.parametrize("name", GAMED)
def test_check_of_a_problem_that_can_be_gamed(warpgym, tmp_path, name):
    *content, attempt = GAMED[name]
    folder = make_problem(tmp_path / "easy", *content)
    run = warpgym("problem", "check", folder, expect=SOME_FAILED)
    assert "can be gamed" in run.out
    assert any(attempt in line for line in run.out.splitlines() if "accepted" in line), run
    run = warpgym("problem", "check", "--json", folder)
    assert run.status == SOME_FAILED and json.loads(run.out)["gamed"] is True


def test_check_of_a_reference_that_does_not_compile(warpgym, tmp_path):
    folder = make_problem(tmp_path / "broken", "normal", "{relative: 1.0e-5}", "y[i] = ;")
    run = warpgym("problem", "check", folder, expect=USAGE)
    assert "reference.c:6" in run.err.splitlines()[0]


@pytest.mark.skipif(not PYTHON.exists(), reason="no Python with PyTorch: `make setup` makes one")
def test_check_of_torch_problems(warpgym, tmp_path):
    """A sound problem, and one whose weight does not affect the output."""
    sound = write(tmp_path / "sound.py", kernelbench_module())
    text = kernelbench_module().replace("+ self.weight", "+ 0 * self.weight")
    weightless = write(tmp_path / "weightless.py", text)
    run = warpgym("problem", "check", "--json", sound, weightless, expect=SOME_FAILED)
    assert [json.loads(line)["gamed"] for line in run.out.splitlines()] == [False, True], run


# --- a new one -----------------------------------------------------------------------------------


def test_a_new_native_problem_is_sound_and_its_reference_passes(warpgym):
    shown = warpgym.ok("problem", "new", "my_problem/")
    assert "warpgym problem check ./my_problem\n" in shown.out
    warpgym.ok("problem", "check", "./my_problem")
    warpgym.eval("--problem", "./my_problem", "my_problem/reference.c", expect=PASSED)
    again = warpgym("problem", "new", "my_problem", expect=USAGE)
    assert "already" in again.complaint
    warpgym.ok("problem", "new", "deeper/also")
    warpgym.ok("problem", "show", "./deeper/also")


def test_a_new_module_is_sound_and_its_reference_passes(warpgym):
    warpgym.ok("problem", "new", "mine.py")
    warpgym.ok("problem", "check", "./mine.py")
    text = (warpgym.folder / "mine.py").read_text()
    (warpgym.folder / "answer.py").write_text(text.replace("class Model(", "class ModelNew("))
    warpgym.eval("--problem", "./mine.py", "answer.py", expect=PASSED)
    (warpgym.folder / "mine.py").write_text("mine")
    again = warpgym("problem", "new", "mine.py", expect=USAGE)
    assert "already" in again.complaint
    assert (warpgym.folder / "mine.py").read_text() == "mine"


@pytest.mark.parametrize("name", ["a b", "x: y", "ä", "."])
def test_a_name_that_is_none_is_refused(warpgym, name):
    run = warpgym("problem", "new", name, expect=USAGE)
    assert "a problem's name has" in run.complaint
