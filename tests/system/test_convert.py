"""python3 -m warpgym.convert, on files in the layouts of public data sets that the tests write.

Parquet and Arrow: tests/envs/convert_checks.py, which needs .venv-gym.
"""

import json
import re
import subprocess
import sys

import gym_packages
import pytest
from support import ROOT, read_lines, write_lines

KERNELBOOK = {
    "entry_point": "Scale",
    "module_name": "Scale",
    "python_code": """
import torch

class Model:
    pass

class Scale(torch.nn.Module):
    def __init__(self, factor, shift=0.0):
        super(Scale, self).__init__()
        self.factor, self.shift = factor, shift

    def forward(self, x):
        return x * self.factor + self.shift

def get_inputs():
    return [torch.rand([64, 64])]

def get_init_inputs():
    return [[2.0], {'shift': 1.0}]
""",
    "triton_code": """
import torch

class ScaleNew(torch.nn.Module):
    def __init__(self, factor, shift=0.0):
        super(ScaleNew, self).__init__()
        self.factor, self.shift = factor, shift

    def forward(self, x):
        return torch.add(torch.full_like(x, self.shift), x, alpha=self.factor)
""",
    "uuid": 7,
}
MODULE = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return x + 1

def get_inputs():
    return [torch.rand(64, 64)]

def get_init_inputs():
    return []
"""
ANSWER = MODULE.split("def get_inputs", maxsplit=1)[0].replace("Model", "ModelNew")
WRONG = ANSWER.replace("x + 1", "x + 2")


def fenced(code):
    return f"First ```x```, then:\n\n```python\nprint()\n```\n```python\n{code}```\nDone."


def conversation(*answers):
    return [
        {"role": role, "content": text}
        for answer in answers
        for role, text in (("user", "do"), ("assistant", fenced(answer)))
    ]


COLDSTART = {
    "messages": conversation(WRONG, ANSWER, WRONG),
    "uuid": 3,
    "entry_point": "Model",
    "module_name": None,
    "best_round": 2,
    "original_python_code": MODULE,
}
RL = {
    "data_source": "cuda_llm",
    "prompt": [{"role": "user", "content": "do"}],
    "reward_model": {"ground_truth": MODULE, "style": "rule"},
    "extra_info": {"entry_point": "Model", "module_name": "add_one", "uuid": "cuda_llm_5"},
}
ARCHIVE = {
    "Op_Name": "add_one",
    "Level_ID": 1,
    "Task_ID": 30,
    "Kernel_Name": "add_one_base",
    "Correct": True,
    "PyTorch_Code_Module": MODULE,
    "PyTorch_Code_Functional": MODULE.replace("(self, x):", "(self, x, fn=None):").replace(
        "x + 1", "fn(x)"
    ),
    "CUDA_Code": '#include <torch/extension.h>\n// \'x\' "y" \\n\n',
}
KERNELBENCH = {"code": MODULE, "level": 2, "name": "4_Add_One.py", "problem_id": 4}


class Convert:
    def __init__(self, folder):
        self.folder = folder
        self.batch, self.problems = folder / "batch.jsonl", folder / "problems"

    def __call__(self, *arguments, status=0):
        command = [sys.executable, "-m", "warpgym.convert", *map(str, arguments)]
        run = subprocess.run(
            command,
            check=False,
            env={"PYTHONPATH": ROOT / "python"},
            capture_output=True,
            text=True,
        )
        assert run.returncode == status, run.stdout + run.stderr
        return run

    def rows(self, *rows, options=(), status=0):
        write_lines(self.folder / "data.jsonl", rows)
        return self("--batch", self.batch, *options, self.folder / "data.jsonl", status=status)


@pytest.fixture
def convert(tmp_path):
    return Convert(tmp_path)


def test_kernelbook_is_judged(convert, warpgym):
    """Keyword arguments of the constructor, another class name, and a Model that is another one."""
    wrong = {**KERNELBOOK, "triton_code": KERNELBOOK["triton_code"].replace("torch.add", "-1 + ")}
    wrong["triton_code"] = wrong["triton_code"].replace(", x, alpha=self.factor", "")
    convert.rows(KERNELBOOK, wrong)
    verdicts = warpgym.eval("--json", convert.batch).verdicts
    assert [one["status"] for one in verdicts] == ["passed", "wrong"]
    assert [one["id"] for one in verdicts] == ["kernelbook-7", "kernelbook-7-2"]
    assert verdicts[0]["candidate"]["path"] == "Scale/data.jsonl:1.py"


def test_a_conversation_gives_its_best_answer(convert, warpgym):
    convert.rows(COLDSTART, options=("--problems", convert.problems))
    (verdict,) = warpgym.eval("--problems", convert.problems, "--json", convert.batch).verdicts
    assert verdict["status"] == "passed"
    assert verdict["problem"]["id"] == "torch/problem"


def test_the_last_answer_where_none_is_the_best(convert):
    convert.rows({key: value for key, value in COLDSTART.items() if key != "best_round"})
    (line,) = read_lines(convert.batch)
    assert line["candidate"]["source"] == WRONG


@pytest.mark.parametrize(
    ("row", "file"),
    [
        (RL, "torch/add_one.py"),
        ({**RL, "extra_info": json.dumps(RL["extra_info"])}, "torch/add_one.py"),
        (KERNELBENCH, "level2/4_Add_One.py"),
        (ARCHIVE, "level1/30_add_one_base.py"),
        ({**KERNELBENCH, "name": "../../up"}, "level2/4_up.py"),
    ],
)
def test_problems(convert, warpgym, row, file):
    write_lines(convert.folder / "data.jsonl", [row, row])
    run = convert("--problems", convert.problems, convert.folder / "data.jsonl")
    assert run.stdout.startswith("2 rows: 1 problems in ")
    made = [path for path in convert.problems.rglob("*") if path.is_file()]
    assert [str(path.relative_to(convert.problems)) for path in made] == [file]
    assert made[0].read_text() == MODULE
    listed = warpgym.ok("problem", "list", "--problems", convert.problems).out
    assert re.sub(r"_.*", "", file).removesuffix(".py") in listed


def test_another_reference_under_a_taken_name(convert):
    other = {**RL, "reward_model": {"ground_truth": MODULE.replace("x + 1", "x + 3")}}
    write_lines(convert.folder / "data.jsonl", [RL, other])
    convert("--problems", convert.problems, convert.folder / "data.jsonl")
    names = sorted(path.name for path in (convert.problems / "torch").iterdir())
    assert names == ["add_one.py", "add_one_2.py"]


def test_an_extension_of_the_archive_is_called(convert):
    code = ARCHIVE["CUDA_Code"]
    hard = {**ARCHIVE, "CUDA_Code": code + "'''\\"}
    convert.rows(ARCHIVE, hard)
    program = """
import sys, torch, torch.utils.cpp_extension as cpp, types
seen = []
def load_inline(name, cpp_sources, cuda_sources):
    seen.append(cuda_sources)
    return types.SimpleNamespace(forward=lambda x: x * 10)
cpp.load_inline = load_inline
space = {}
exec(sys.stdin.read(), space)
assert space["ModelNew"]()(torch.ones(2)).tolist() == [10, 10]
sys.stdout.write(seen[0])
"""
    for row, line in zip((ARCHIVE, hard), read_lines(convert.batch), strict=True):
        source = line["candidate"]["source"]
        run = subprocess.run(
            [sys.executable, "-c", program],
            check=False,
            input=source,
            capture_output=True,
            text=True,
        )
        assert run.returncode == 0, run.stderr
        assert run.stdout == row["CUDA_Code"]


def test_columns_by_name(convert):
    row = {"ref": MODULE, "text": fenced(ANSWER), "key": "a b", "who": "m1", "level": "x"}
    columns = ("--reference", "ref", "--candidate", "text", "--id", "key", "--name", "who")
    convert.rows(row, options=columns)
    (line,) = read_lines(convert.batch)
    assert line["problem"] == {"format": "torch", "source": MODULE}
    assert line["candidate"]["source"].strip() == ANSWER.strip()
    assert (line["id"], line["name"]) == ("columns-a_b", "m1/data.jsonl:1.py")


def test_where_and_limit(convert):
    wrong = {**ARCHIVE, "Correct": False}
    run = convert.rows(wrong, ARCHIVE, KERNELBOOK, options=("--where", "Correct=true"))
    assert len(read_lines(convert.batch)) == 1
    assert "2 that --where leaves out" in run.stdout
    run = convert.rows(KERNELBOOK, {**KERNELBOOK, "python_code": 1}, options=("--limit", "1"))
    assert run.stdout.startswith("1 rows: 1 problems, 1 answers") and run.stderr == ""


BAD_ROWS = [
    ({**KERNELBOOK, "python_code": None}, "'python_code' is missing or null"),
    ({**KERNELBOOK, "python_code": 5}, "'python_code' is no text but int"),
    ({**KERNELBOOK, "triton_code": " "}, "'triton_code' is empty"),
    ({**KERNELBOOK, "entry_point": "Scale("}, "'entry_point' is no name of a class"),
    ({**KERNELBOOK, "entry_point": "Other"}, "'python_code' defines no class Other"),
    ({**KERNELBOOK, "triton_code": "x"}, "the answer in 'triton_code' defines no class ScaleNew"),
    ([1], "an object is expected"),
    ({"entry_point": "Scale"}, "'python_code' is missing or null"),
]


@pytest.mark.parametrize(("row", "words"), BAD_ROWS)
def test_a_bad_row_is_named_and_left_out(convert, row, words):
    run = convert.rows(KERNELBOOK, row, KERNELBOOK)
    assert run.stderr == f"left out: {convert.folder}/data.jsonl:2: {words}\n"
    assert ", 2 answers in " in run.stdout and run.stdout.endswith(", 1 rows refused\n")
    assert len(read_lines(convert.batch)) == 2
    convert.batch.unlink()
    run = convert.rows(KERNELBOOK, row, KERNELBOOK, options=["--strict"], status=1)
    assert run.stderr == f"warpgym.convert: {convert.folder}/data.jsonl:2: {words}\n"
    assert not convert.batch.exists()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"messages": []}, "'messages' has no answer of an assistant"),
        ({"messages": "["}, "'messages' has no answer of an assistant"),
        ({"messages": [{"role": "assistant", "content": 3}, 4]}, "'messages' has no answer"),
        ({"best_round": 9}, "'best_round' is 9, but there are 3 answers"),
        ({"messages": conversation("x = 1")}, "the answer in 'messages' defines no class ModelNew"),
    ],
)
def test_a_bad_conversation(convert, change, words):
    row = {**COLDSTART, "best_round": None, **change}
    assert words in convert.rows(row, COLDSTART).stderr


def test_bytes_that_are_no_text(convert, warpgym):
    row = json.dumps(KERNELBOOK).encode()
    hostile = [
        row.replace(b"import torch", b"# \\u0000 \\ud800 \xff\\nimport torch"),
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b'{"python_code": ' + b"9" * 10_000 + b"}",
        row,
    ]
    (convert.folder / "data.jsonl").write_bytes(b"\xef\xbb\xbf" + b"\n".join(hostile))
    run = convert("--batch", convert.batch, convert.folder / "data.jsonl")
    assert re.findall(r"data.jsonl:(\d+)", run.stderr) == ["2", "3", "4"]
    verdicts = warpgym.eval("--json", convert.batch).verdicts
    assert [one["status"] for one in verdicts] == ["passed", "passed"]


def test_many_bad_rows_are_counted(convert):
    run = convert.rows(KERNELBOOK, *[{}] * 30)
    assert run.stderr.count("\n") == 11 and "30 rows refused" in run.stdout


def test_files_that_cannot_be_read(convert):
    """One bad file of several costs that file, and the exit status."""
    (convert.folder / "good.jsonl").write_text(json.dumps(KERNELBOOK) + "\n")
    for name, words in (
        ("away.jsonl", "No such file or directory"),
        ("data.csv", "its name ends in none of .jsonl, .parquet, .arrow"),
        ("empty", "holds no .jsonl, .parquet, .arrow file"),
    ):
        if name == "empty":
            (convert.folder / name).mkdir()
        paths = (convert.folder / name, convert.folder / "good.jsonl")
        run = convert("--batch", convert.batch, *paths, status=1)
        assert words in run.stderr and run.stderr.count("\n") == 1


def test_unknown_columns(convert):
    run = convert.rows({"a": 1, "b": 2}, status=1)
    assert "its columns (a, b) are those of no known data set" in run.stderr
    options = ("--reference", "c", "--candidate", "b")
    run = convert.rows({"a": 1, "b": 2}, options=options, status=1)
    assert "data.jsonl:1: has no column c; it has a, b" in run.stderr


def test_problems_without_answers(convert):
    run = convert.rows(RL, status=1)
    assert run.stderr == "warpgym.convert: no row has an answer\n"


def test_without_pyarrow(convert):
    (convert.folder / "data.parquet").write_bytes(b"PAR1")
    program = "import sys; sys.modules['pyarrow'] = None; import runpy; sys.argv[0] = 'convert'"
    program += "; runpy.run_module('warpgym.convert', run_name='__main__')"
    run = subprocess.run(
        [sys.executable, "-c", program, "--batch", convert.batch, convert.folder / "data.parquet"],
        check=False,
        env={"PYTHONPATH": ROOT / "python"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 1
    assert "Parquet and Arrow files need pyarrow: pip install pyarrow\n" in run.stderr
    assert "Traceback" not in run.stderr


def test_parquet_and_arrow(warpgym, tmp_path):
    gym_packages.run_checks(["tests/envs/convert_checks.py"], warpgym.environment, {}, tmp_path)
