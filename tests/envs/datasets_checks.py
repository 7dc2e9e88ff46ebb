"""Trajectories as Hugging Face's datasets reads them."""

import os

import pytest
from gym_answers import CORRECT, NO_CODE, WRONG

datasets = pytest.importorskip("datasets")

from warpgym import trajectories  # noqa: E402
from warpgym.episodes import Conversation  # noqa: E402


@pytest.fixture
def file(url, tmp_path):
    """Trajectories of three episodes, as the server returns them."""
    if "TEST_GYM_URL" not in os.environ:
        pytest.skip("only a real server returns whole trajectories: TEST_GYM_URL")
    episodes = []
    with Conversation(url, turns=2, language="c") as gym:
        for answers in ((WRONG, CORRECT), (NO_CODE, WRONG), (CORRECT, CORRECT)):
            gym.reset("softmax")
            for answer in answers:
                episode = gym.step(answer)
            episodes.append(episode.trajectory)
    path = tmp_path / "trajectories.jsonl"
    assert trajectories.write(path, episodes) == 3
    return path


def known(value):
    """A column has the keys of all rows: None where a row lacks one."""
    if isinstance(value, dict):
        return {key: known(one) for key, one in value.items() if one is not None}
    return [known(one) for one in value] if isinstance(value, list) else value


def test_load_dataset_reads_them_as_they_are(file, tmp_path):
    rows = datasets.load_dataset(
        "json", data_files=str(file), split="train", cache_dir=str(tmp_path / "cache")
    )
    assert [row["solved"] for row in rows] == [True, False, True]
    assert rows[:] == trajectories.dataset(file)[:]
    episodes = list(trajectories.read(file))
    for row, one in zip(rows, episodes, strict=True):
        assert row["messages"] == one["messages"]
        for key in ("answer", "reward", "prompt", "logprobs", "verdict"):
            assert [known(turn[key]) for turn in row["turns"]] == [
                known(turn[key]) for turn in one["turns"]
            ]
    assert rows.features["messages"] is not None and rows[0]["turns"][1]["correct"] is True


def test_rows_for_fine_tuning(file):
    rows = datasets.Dataset.from_list(list(trajectories.sft(trajectories.read(file))))
    assert len(rows) == 2 and rows.column_names == ["messages"]
    assert rows[0]["messages"][-1] == {"role": "assistant", "content": CORRECT}


def test_the_dataset_for_verl(url, example, tmp_path):
    path = tmp_path / "train.parquet"
    arguments = ("--url", url, "--language", "c", "--out", path, "softmax")
    output = example("verl/make_dataset.py", *arguments)
    assert output.startswith("1 rows in ")
    (row,) = datasets.load_dataset(
        "parquet", data_files=str(path), split="train", cache_dir=str(tmp_path / "cache")
    )
    assert row["reward_model"] == {"style": "rule", "ground_truth": "softmax"}
    assert "softmax" in row["prompt"][-1]["content"] and row["prompt"][-1]["role"] == "user"
