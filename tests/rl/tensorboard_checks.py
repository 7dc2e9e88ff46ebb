"""Event files of src/rl/run/event_file.c, read by TensorBoard's own reader.

Run by tests/system/test_rl.py with the Python of .venv-gym.
"""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import plugin_data_pb2

WRITER = Path(os.environ["TEST_BUILD"]) / "rl" / "write_events"
ALL = dict.fromkeys(("scalars", "histograms", "tensors", "compressedHistograms"), 0)


def write(directory, first, count):
    subprocess.run([WRITER, directory, str(first), str(count)], check=True, timeout=60)


def read(directory):
    events = EventAccumulator(str(directory), size_guidance=ALL)
    events.Reload()
    return events


def steps(events, tag="Reward/Mean"):
    return [event.step for event in events.Scalars(tag)]


@pytest.fixture(scope="module")
def events(tmp_path_factory):
    directory = tmp_path_factory.mktemp("events")
    before = time.time()
    write(directory, 3, 4)
    return read(directory), before


def test_tags(events):
    tags = events[0].Tags()
    assert sorted(tags["scalars"]) == ["Größe/σ", "Reward/Mean"]
    assert tags["histograms"] == ["Distributions/Rewards"]
    assert sorted(tags["tensors"]) == ["Best", "_hparams_/session_start_info"]
    assert events[0].file_version == 2.0


def test_scalars(events):
    found = events[0].Scalars("Reward/Mean")
    assert [(event.step, event.value) for event in found] == [(i, i / 2) for i in range(3, 7)]
    assert all(events[1] - 1 < event.wall_time < time.time() + 1 for event in found)


def test_text(events):
    found = events[0].Tensors("Best")
    assert [event.step for event in found] == [3, 4, 5, 6]
    assert list(found[0].tensor_proto.string_val) == [b"xxxxx"]
    assert [d.size for d in found[0].tensor_proto.tensor_shape.dim] == [1]
    assert events[0].SummaryMetadata("Best").plugin_data.plugin_name == "text"


def test_histogram(events):
    found = events[0].Histograms("Distributions/Rewards")[0].histogram_value
    values = [3 + i for i in range(64)]
    assert (found.min, found.max, found.num) == (3, 66, 64)
    assert (found.sum, found.sum_squares) == (sum(values), sum(v * v for v in values))
    assert len(found.bucket) == len(found.bucket_limit) == 30
    assert found.bucket_limit[-1] == 66 and sum(found.bucket) == 64
    # Equal widths of 2.1: the buckets hold what lies in them.
    lefts = [3, *found.bucket_limit[:-1]]
    for i, (left, right, count) in enumerate(zip(lefts, found.bucket_limit, found.bucket)):
        assert abs(right - left - 2.1) < 1e-9
        inside = [v for v in values if left <= v < right or (i == 29 and v == 66)]
        assert abs(len(inside) - count) <= 1, (left, right)


def test_hparams(events):
    metadata = events[0].SummaryMetadata("_hparams_/session_start_info")
    assert metadata.plugin_data.plugin_name == "hparams"
    content = plugin_data_pb2.HParamsPluginData.FromString(metadata.plugin_data.content)
    start = content.session_start_info
    assert content.version == 0 and start.group_name == "a run" and start.start_time_secs > 1e9
    assert start.hparams["learning_rate"].number_value == 0.5
    assert start.hparams["model"].string_value == "tiny"
    assert set(start.hparams) == {"learning_rate", "model", "steps"}


def test_going_on_forgets_what_is_done_again(tmp_path):
    write(tmp_path, 0, 10)
    write(tmp_path, 6, 3)
    assert steps(read(tmp_path)) == [0, 1, 2, 3, 4, 5, 6, 7, 8]
    write(tmp_path, 0, 2)
    found = read(tmp_path)
    assert steps(found) == [0, 1]
    assert [event.step for event in found.Histograms("Distributions/Rewards")] == [0, 1]
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize("torn", [0, 1, 15, 20000])
def test_killed(tmp_path, torn):
    """Killed while it writes; what is there is read, and the next process's file behind it."""
    with subprocess.Popen([WRITER, tmp_path, "0", "0"]) as process:
        deadline = time.monotonic() + 60
        while sum(path.stat().st_size for path in tmp_path.iterdir()) < 160 << 10:
            assert process.poll() is None and time.monotonic() < deadline
        process.send_signal(signal.SIGKILL)
    (path,) = tmp_path.iterdir()
    os.truncate(path, path.stat().st_size - torn)
    before = steps(read(tmp_path))
    assert before == list(range(len(before))) and len(before) >= 7
    write(tmp_path, 5, 4)
    assert steps(read(tmp_path)) == [0, 1, 2, 3, 4, 5, 6, 7, 8]
