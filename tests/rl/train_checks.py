"""What `warpgym train` left in a directory, against docs/: schemas, tags, and event files as
TensorBoard's own reader has them.

Run by tests/system/test_train.py with the Python of .venv-gym, on the runs of its own that
TEST_WHOLE (never interrupted), TEST_KILLED (the same, killed at many instants) and TEST_TIMED
name.
"""

import json
import math
import os
import re
from pathlib import Path

import pytest
import schemas
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

DOCS = Path(__file__).parents[2] / "docs"
RUNS = {name: Path(os.environ[f"TEST_{name.upper()}"]) for name in ("whole", "killed", "timed")}
ALL = dict.fromkeys(("scalars", "histograms", "tensors", "compressedHistograms"), 0)
FILES = [
    ("metrics.jsonl", "metrics"),
    ("traces.jsonl", "trace"),
    ("checkpoints.jsonl", "checkpoint"),
    ("train.log", "log"),
    ("status.json", "status"),
    ("evaluations/step-*.jsonl", "trajectory"),
]
# What any step of reinforcement logs; speedups, evaluations and levels where there are any.
ALWAYS = """Reward/Mean Reward/StdDev Reward/Min Reward/Max Kernel/FormatRate Kernel/CompileRate
Kernel/CorrectRate Kernel/CheatRate Progress/CompletionFraction Optimizer/LearningRate
Batch/NumGroups Batch/NumTrajectories Timing/Total Timing/Rollout Timing/Assemble_Data
Timing/Train Timing/Save_Checkpoint Counts/format_ok Counts/compiled Counts/correct
RewardComponents/Correctness RewardComponents/Total""".split()
EVALUATED = "Pass@1 CompileRate CorrectRate Fast1x Fast2x".split()
# On a busy machine no speedup of calls this small means anything, and none is logged.
SPEEDUPS = {
    "Kernel/MeanSpeedup": "kernel/mean_speedup",
    "Eval/MeanSpeedup": "eval/mean_speedup",
    "Eval/GeometricMeanSpeedup": "eval/geometric_mean_speedup",
}


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def metrics(run):
    return lines(RUNS[run] / "metrics.jsonl")


def read(directory):
    events = EventAccumulator(str(directory), size_guidance=ALL)
    events.Reload()
    return events


@pytest.fixture(scope="module")
def event_files():
    """{run: {directory below tensorboard/: what TensorBoard reads there}}."""
    found = {}
    for name, directory in RUNS.items():
        events = directory / "tensorboard"
        folders = [events, *sorted(path for path in events.iterdir() if path.is_dir())]
        found[name] = {str(path.relative_to(events)): read(path) for path in folders}
    return found


# --- schemas -------------------------------------------------------------------------------------


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize(("pattern", "schema"), FILES)
def test_schemas(run, pattern, schema):
    validator = schemas.validator(schema)
    found = [line for path in RUNS[run].glob(pattern) for line in lines(path)]
    assert found
    for line in found:
        validator.validate(line)
    for key in validator.schema["required"]:
        assert not validator.is_valid({k: v for k, v in found[0].items() if k != key}), key


# --- scalars -------------------------------------------------------------------------------------


def table():
    """Rows of docs/guide/runs.md: what a metric's name looks like, its tag, its group's directory."""
    row = re.compile(r"\| `([^`]+)` \| `([^`]+)` \| (?:`([^`]+)`: (\S+))? *\|")
    text = (DOCS / "guide" / "runs.md").read_text(encoding="utf-8")
    for metric, tag, group, member in row.findall(text):
        pattern = re.escape(metric).replace(r"\*", r"(\d+)")
        yield re.compile(pattern), *(text.replace("*", r"\1") for text in (tag, group)), member


def wanted(run):
    """What the event files have to hold, by the metrics: {directory: {tag: [(step, value)]}}."""
    rows, found = list(table()), {".": {}}
    for line in metrics(run):
        step = line.pop("step")
        for name, value in line.items():
            if value is None:
                continue
            row = next((row for row in rows if row[0].fullmatch(name)), None)
            tag = row[0].sub(row[1], name) if row else name
            found["."].setdefault(tag, []).append((step, value))
            if row and row[2]:
                group = row[0].sub(row[2], name)
                folder = f"{group}_{row[3]}".replace("/", "_")
                found.setdefault(folder, {}).setdefault(group, []).append((step, value))
    return found


@pytest.mark.parametrize("run", RUNS)
def test_scalars(run, event_files):
    """Each point once, under its tag, and no others."""
    logged = wanted(run)
    assert set(event_files[run]) == set(logged)
    for folder, tags in logged.items():
        events = event_files[run][folder]
        assert set(events.Tags()["scalars"]) == set(tags), folder
        for tag, points in tags.items():
            read_points = events.Scalars(tag)
            assert [event.step for event in read_points] == [step for step, _ in points], tag
            for event, (_, value) in zip(read_points, points):
                assert math.isclose(event.value, value, rel_tol=1e-6, abs_tol=1e-30), tag


@pytest.mark.parametrize("run", RUNS)
def test_documented_tags_are_there(run):
    tags = wanted(run)["."]
    steps = [line["step"] for line in metrics(run) if "reward/mean" in line]
    assert steps
    for tag in ALWAYS:
        logged = [step for step, _ in tags[tag]]
        tuned = tag.startswith(("Prog", "Opt", "Timing"))  # of fine-tuning, too
        assert logged == steps or (tuned and set(logged) > set(steps)), tag
    for tag in EVALUATED:
        assert len(tags[f"Eval/{tag}"]) >= 2, tag
    if run == "timed":
        logged = {name for line in metrics(run) for name in line}
        assert not [tag for tag, name in SPEEDUPS.items() if (name in logged) != (tag in tags)]


# --- histograms, texts, settings -----------------------------------------------------------------


@pytest.mark.parametrize("run", RUNS)
def test_histograms(run, event_files):
    counts = {}
    for trace in lines(RUNS[run] / "traces.jsonl"):
        if trace["reward"] is not None:
            counts[trace["step"]] = counts.get(trace["step"], 0) + 1
    found = event_files[run]["."].Histograms("Distributions/Rewards")
    assert {event.step: event.histogram_value.num for event in found} == counts
    assert len(found) == len(counts)
    advantages = [event.step for event in event_files[run]["."].Histograms("Distributions/Advantages")]
    logged = [line["step"] for line in metrics(run) if "advantage/mean" in line]
    assert advantages == logged
    speedups = any("kernel/mean_speedup" in line for line in metrics(run))
    assert ("Distributions/Speedups" in event_files[run]["."].Tags()["histograms"]) == speedups
    assert not speedups or run == "timed"


def texts(events, tag):
    return {
        event.step: event.tensor_proto.string_val[0].decode() for event in events.Tensors(tag)
    }, len(events.Tensors(tag))


@pytest.mark.parametrize("run", RUNS)
def test_texts(run, event_files):
    events = event_files[run]["."]
    configuration, count = texts(events, "Configuration")
    assert count == 1 and "    gym.style: terse\n" in configuration[0].replace('"', "")
    held_out, count = texts(events, "Samples/HeldOut")
    logged = [line["step"] for line in metrics(run) if "eval/correct_rate" in line]
    assert sorted(held_out) == logged and count == len(logged)
    answers, count = texts(events, "Samples/Training")
    steps = [line["step"] for line in metrics(run) if "reward/mean" in line]
    assert sorted(answers) == steps[::2] and count == len(answers)  # train.text_every=2
    first = min(answers)
    trace = next(trace for trace in lines(RUNS[run] / "traces.jsonl") if trace["step"] == first)
    text = answers[first]
    assert f"### {trace['problem']}, sample {trace['sample']}" in text
    assert f"**Turn 0: {trace['status']}" in text and f"reward {trace['reward']:.4g}" in text
    assert "    " + trace["answer"].replace("\n", "\n    ") in text


def test_killed_is_whole(event_files):
    """What TensorBoard shows of the run that died many times is what the other one has."""
    times = ("Timing/", "time/")
    for folder, events in event_files["whole"].items():
        tags, other = events.Tags(), event_files["killed"][folder]
        assert tags == other.Tags()
        for tag in tags["scalars"]:
            if not tag.startswith(times):
                values = [[(e.step, e.value) for e in one.Scalars(tag)] for one in (events, other)]
                assert values[0] == values[1], tag
        for tag in tags["histograms"]:
            one, two = events.Histograms(tag), other.Histograms(tag)
            assert [e.histogram_value for e in one] == [e.histogram_value for e in two], tag
