"""warpgym.convert with Parquet and Arrow files (tests/system/test_convert.py runs it)."""

import json

import pytest
from test_convert import ANSWER, COLDSTART, KERNELBOOK, MODULE, RL

pyarrow = pytest.importorskip("pyarrow")
datasets = pytest.importorskip("datasets")
from pyarrow import parquet  # noqa: E402
from warpgym.convert.command import main  # noqa: E402


@pytest.fixture
def lines(tmp_path, capsys):
    """Converts and returns the batch, and what was said."""

    def convert(*arguments, status=0):
        batch = tmp_path / "batch.jsonl"
        assert main(["--batch", str(batch), *map(str, arguments)]) == status
        said = capsys.readouterr()
        made = [json.loads(line) for line in batch.read_text().splitlines()]
        return made, said.out + said.err

    return convert


def as_table(rows):
    return pyarrow.Table.from_pylist(rows)


def test_a_snapshot_with_its_folders(lines, tmp_path):
    """As `hf download` leaves it: shards below data/, a card beside them."""
    (tmp_path / "set" / "data").mkdir(parents=True)
    (tmp_path / "set" / "README.md").write_text("card")
    for shard in range(2):
        path = tmp_path / "set" / "data" / f"train-0000{shard}-of-00002.parquet"
        parquet.write_table(as_table([KERNELBOOK] * 100), path)
    made, said = lines(tmp_path / "set")
    assert len(made) == 200 and len({line["id"] for line in made}) == 200
    assert said.startswith("200 rows: 1 problems, 200 answers in ")
    assert "class ModelNew(ScaleNew):" in made[0]["candidate"]["source"]


def test_nested_columns(lines, tmp_path):
    rows = [COLDSTART, {**COLDSTART, "messages": None}]
    parquet.write_table(as_table(rows), tmp_path / "a.parquet")
    made, said = lines(tmp_path / "a.parquet")
    assert [line["problem"]["source"] for line in made] == [MODULE]
    assert made[0]["candidate"]["source"].strip() == ANSWER.strip()
    assert "a.parquet:2: 'messages' has no answer of an assistant" in said
    parquet.write_table(as_table([RL, {**RL, "reward_model": None}]), tmp_path / "b.parquet")
    _, said = lines("--problems", tmp_path / "problems", tmp_path / "b.parquet", status=1)
    assert (tmp_path / "problems" / "torch" / "add_one.py").read_text() == MODULE
    assert "b.parquet:2: 'reward_model.ground_truth' is missing or null" in said


def test_a_data_set_on_disk(lines, tmp_path):
    datasets.Dataset.from_list([KERNELBOOK] * 3).save_to_disk(str(tmp_path / "disk"))
    made, _ = lines(tmp_path / "disk")
    assert len(made) == 3


@pytest.mark.parametrize("kind", ["string", "large_string", "dictionary"])
def test_texts_that_are_no_text(lines, tmp_path, kind):
    """Parquet's writers do not check that texts are UTF-8."""
    hostile = b"# \xff\x00 \xed\xa0\x80" + KERNELBOOK["python_code"].encode()
    column = pyarrow.array([hostile, KERNELBOOK["python_code"].encode()]).view(pyarrow.string())
    column = column.dictionary_encode() if kind == "dictionary" else column.cast(kind)
    table = as_table([KERNELBOOK] * 2).drop_columns(["python_code"])
    parquet.write_table(table.append_column("python_code", column), tmp_path / "a.parquet")
    made, said = lines(tmp_path / "a.parquet")
    assert len(made) == 2 and "\0" not in made[0]["problem"]["source"]
    assert made[0]["problem"]["source"].startswith("# \ufffd\ufffd ") and "refused" not in said


def test_a_column_of_another_type(lines, tmp_path):
    rows = [{**KERNELBOOK, "python_code": 5}]
    parquet.write_table(as_table(rows), tmp_path / "a.parquet")
    _, said = lines(tmp_path / "a.parquet", status=1)
    assert "a.parquet:1: 'python_code' is no text but int" in said


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
@pytest.mark.parametrize("damage", ["empty", "cut", "garbage", "lfs"])
def test_damaged_files(lines, tmp_path, name, damage):
    path = tmp_path / name
    table = as_table([KERNELBOOK] * 50)
    if name.endswith("parquet"):
        parquet.write_table(table, path)
    else:
        with pyarrow.ipc.new_stream(path, table.schema) as stream:
            stream.write_table(table)
    whole = path.read_bytes()
    path.write_bytes(
        {
            "empty": b"",
            "cut": whole[: len(whole) // 2],
            "garbage": whole[:200] + bytes(range(256)) * 8 + whole[-300:-8] + b"\xff" * 8,
            "lfs": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
        }[damage]
    )
    good = tmp_path / "good.parquet"
    parquet.write_table(as_table([KERNELBOOK]), good)
    made, said = lines(path, good, status=1)
    assert made and f"left out: {path}: " in said and "Traceback" not in said
