"""Trajectories as Hugging Face's datasets reads them."""

import pytest
from gym_answers import CORRECT, NO_CODE, WRONG

datasets = pytest.importorskip("datasets")

from warpgym import trajectories  # noqa: E402
from warpgym.episodes import Conversation  # noqa: E402


@pytest.fixture
def file(url, tmp_path):
    """Of three episodes as the server tells of them."""
    told = []
    with Conversation(url, turns=2, language="c") as gym:
        for answers in ((WRONG, CORRECT), (NO_CODE, WRONG), (CORRECT, CORRECT)):
            gym.reset("softmax")
            for answer in answers:
                episode = gym.step(answer)
            told.append(episode.trajectory)
    path = tmp_path / "trajectories.jsonl"
    assert trajectories.write(path, told) == 3
    return path


def test_load_dataset_reads_them_as_they_are(file, tmp_path):
    rows = datasets.load_dataset(
        "json", data_files=str(file), split="train", cache_dir=str(tmp_path / "cache")
    )
    assert [row["solved"] for row in rows] == [True, False, True]
    assert rows[:] == trajectories.dataset(file)[:]
    told = list(trajectories.read(file))
    for row, one in zip(rows, told, strict=True):
        assert row["messages"] == one["messages"]
        assert [turn["answer"] for turn in row["turns"]] == [turn["answer"] for turn in one["turns"]]
        assert [turn["reward"] for turn in row["turns"]] == [turn["reward"] for turn in one["turns"]]
    assert rows.features["messages"] is not None and rows[0]["turns"][1]["correct"] is True


def test_rows_for_fine_tuning(file):
    rows = datasets.Dataset.from_list(list(trajectories.sft(trajectories.read(file))))
    assert len(rows) == 2 and rows.column_names == ["messages"]
    assert rows[0]["messages"][-1] == {"role": "assistant", "content": CORRECT}
