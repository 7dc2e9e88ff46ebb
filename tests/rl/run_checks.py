"""A run's directory, against the schemas in docs/ and TensorBoard's own reader.

Run by tests/system/test_rl.py with the Python of .venv-gym.
"""

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest
import schemas
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import plugin_data_pb2

WRITER = Path(os.environ["TEST_BUILD"]) / "rl" / "write_run"
ALL = dict.fromkeys(("scalars", "histograms", "tensors", "compressedHistograms"), 0)
STEPS, KILLS = 11, 6


def write(directory, steps=STEPS, wait_ms=0):
    subprocess.run([WRITER, directory, str(steps), str(wait_ms)], check=True, timeout=60)


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def read(directory):
    events = EventAccumulator(str(directory), size_guidance=ALL)
    events.Reload()
    return events


def scalars(directory):
    """All of a run's: {directory below tensorboard/: {tag: [(step, value), …]}}."""
    found = {}
    top = directory / "tensorboard"
    for folder in [top, *sorted(path for path in top.iterdir() if path.is_dir())]:
        events = read(folder)
        found[str(folder.relative_to(top))] = {
            tag: [(event.step, event.value) for event in events.Scalars(tag)]
            for tag in events.Tags()["scalars"]
        }
    return found


@pytest.fixture(scope="module")
def clean(tmp_path_factory):
    directory = tmp_path_factory.mktemp("clean") / "demo"
    write(directory)
    return directory


@pytest.mark.parametrize(
    ("name", "schema", "count"),
    [
        ("metrics.jsonl", "metrics", STEPS),
        ("traces.jsonl", "trace", 3 * STEPS),
        ("checkpoints.jsonl", "checkpoint", STEPS // 4),
    ],
)
def test_schemas(clean, name, schema, count):
    validator = schemas.validator(schema)
    found = lines(clean / name)
    assert len(found) == count
    for line in found:
        validator.validate(line)
        for key in validator.schema["required"]:
            assert not validator.is_valid({k: v for k, v in line.items() if k != key}), key


def test_tags(clean):
    found = scalars(clean)
    steps = list(range(STEPS))
    assert [step for step, _ in found["."]["Reward/Mean"]] == steps
    metrics = lines(clean / "metrics.jsonl")
    for line, (step, value) in zip(metrics, found["."]["Reward/Mean"]):
        assert step == line["step"] and abs(value - line["reward/mean"]) < 1e-6
    assert {"Kernel/CorrectRate", "PerLevel/Level1/RewardMean", "Timing/Rollout"} <= set(found["."])
    assert [step for step, _ in found["."]["mismatch/mismatch_kl"]] == [0, 1, *steps[3:]]
    assert found["Reward_Summary_mean"]["Reward/Summary"] == found["."]["Reward/Mean"]
    group = found["Eval_Level1_QualityOverview_fast_1x"]
    assert group == {"Eval/Level1/QualityOverview": found["."]["Eval/Level1/Fast1x"]}
    assert set(found) == {
        *(".", "Reward_Summary_mean", "Reward_Summary_min", "Reward_Summary_max"),
        *("Kernel_QualityRates_correct", "Timing_Breakdown_rollout"),
        *("Eval_QualityOverview_correct", "Eval_Level1_QualityOverview_fast_1x"),
    }


def test_other_kinds(clean):
    events = read(clean / "tensorboard")
    assert [event.step for event in events.Histograms("Distributions/Rewards")] == [*range(STEPS)]
    assert events.Histograms("Distributions/Rewards")[0].histogram_value.num == 3
    assert events.Tensors("Best")[0].tensor_proto.string_val[0] == b"`a`"
    content = events.SummaryMetadata("_hparams_/session_start_info").plugin_data.content
    start = plugin_data_pb2.HParamsPluginData.FromString(content).session_start_info
    assert start.group_name == "demo"
    assert start.hparams["gym/turns"].number_value == 4
    assert start.hparams["gym/reward"].string_value == "warpgym"
    assert not [name for name in start.hparams if "token" in name and name.endswith("/token")]


def test_killed(clean, tmp_path):
    """What TensorBoard reads of a run that died several times is what one that did not has."""
    draw = random.Random(5)
    killed = tmp_path / "demo"
    for _ in range(KILLS):
        with subprocess.Popen([WRITER, killed, str(STEPS), "5"]) as process:
            path = killed / "metrics.jsonl"
            there = len(path.read_bytes().splitlines()) if path.exists() else 0
            wanted = min(there + draw.randrange(4), STEPS - 1)
            deadline = time.monotonic() + 60
            while not path.exists() or len(path.read_bytes().splitlines()) < wanted:
                assert time.monotonic() < deadline
            time.sleep(draw.random() / 200)
            process.send_signal(signal.SIGKILL)
    write(killed)
    assert scalars(killed) == scalars(clean)
    assert lines(killed / "metrics.jsonl") == lines(clean / "metrics.jsonl")
    log = [line["event"] for line in lines(killed / "train.log")]
    assert log.count("resumed") >= 1 and log[-1] == "finished"
