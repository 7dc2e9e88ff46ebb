"""`warpgym runs sync` with the real Weights & Biases (offline), MLflow and Trackio, each read back.

Run by tests/system/test_rl.py with the Python of .venv-gym.
"""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import mlflow
import pytest
from wandb.proto import wandb_internal_pb2

WRITER = Path(os.environ["TEST_BUILD"]) / "rl" / "write_run"
WARPGYM = os.environ["TEST_WARPGYM"]
STEPS = 7
TRACKERS = ("wandb", "mlflow", "trackio")
ANSWER = "void solution(void);"


@pytest.fixture
def world(tmp_path, monkeypatch):
    """A run, and trackers that keep everything below tmp_path."""
    for name, value in {
        "WANDB_MODE": "offline",
        "WANDB_DIR": str(tmp_path),
        "WANDB_SILENT": "true",
        "MLFLOW_TRACKING_URI": f"file://{tmp_path / 'mlflow'}",
        "MLFLOW_ALLOW_FILE_STORE": "1",
        "TRACKIO_DIR": str(tmp_path / "trackio"),
        "TMPDIR": str(tmp_path),  # what the packages leave there
    }.items():
        monkeypatch.setenv(name, value)
    write(tmp_path / "a", STEPS)
    return tmp_path


def write(directory, steps, wait_ms=0):
    subprocess.run([WRITER, directory, str(steps), str(wait_ms)], check=True, timeout=60)


def command(run, tracker, *options):
    python = ("--python", sys.executable)
    return [WARPGYM, "runs", "sync", run, "--to", tracker, "--project", "p", *python, *options]


def sync(run, tracker, *options, status=0):
    done = subprocess.run(
        command(run, tracker, *options), check=False, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == status, done.stderr
    return done.stderr


def metrics(run):
    """{step: {name: value}} of its file, without what is null."""
    found = {}
    for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines():
        values = json.loads(line)
        step = values.pop("step")
        found[step] = {name: value for name, value in values.items() if value is not None}
    return found


def turns(run, step):
    lines = (run / "traces.jsonl").read_text(encoding="utf-8").splitlines()
    return [turn for turn in map(json.loads, lines) if turn["step"] == step]


# --- what a tracker has: number of runs, {step: {name: value}}, {step: rows of its table of turns},
# settings


def wandb_records(file, block=1 << 15, header=7):
    """Of a .wandb file: LevelDB's log format behind a header of seven bytes."""
    data, at, parts = file.read_bytes(), header, b""
    while at + header <= len(data):
        if block - at % block < header:
            at += block - at % block
            continue
        length, kind = int.from_bytes(data[at + 4 : at + 6], "little"), data[at + 6]
        parts += data[at + header : at + header + length]
        at += header + length
        if kind in (1, 4):  # whole, or the last part
            record = wandb_internal_pb2.Record()
            record.ParseFromString(parts)
            yield record
            parts = b""


def read_wandb(world):
    runs, values, tables, settings = set(), {}, {}, {}
    for file in sorted(world.glob("wandb/offline-run-*/*.wandb")):
        for record in wandb_records(file):
            if record.WhichOneof("record_type") == "run":
                runs.add(record.run.run_id)
                update = record.run.config.update
                settings |= {item.key: json.loads(item.value_json) for item in update}
            if record.WhichOneof("record_type") != "history":
                continue
            row = {
                item.key or "/".join(item.nested_key): json.loads(item.value_json)
                for item in record.history.item
            }
            step = row.pop("_step")
            for name in [name for name in row if name.startswith("_")]:
                del row[name]
            table = {name: row.pop(name) for name in list(row) if name.startswith("turns/")}
            if table:
                path = file.parent / "files" / table["turns/path"]
                tables[step] = json.loads(path.read_text(encoding="utf-8"))["data"]
            assert step not in values, "a step came twice"
            values[step] = row
    return len(runs), values, tables, settings


def read_mlflow(world):
    client = mlflow.MlflowClient(f"file://{world / 'mlflow'}")
    experiment = client.get_experiment_by_name("p")
    (run, *others) = client.search_runs([experiment.experiment_id])
    values, tables = {}, {}
    for name in run.data.metrics:
        for point in client.get_metric_history(run.info.run_id, name):
            row = values.setdefault(point.step, {})
            assert name not in row, "a step came twice"
            row[name] = point.value
    for shown in json.loads(run.data.tags.get("mlflow.loggedArtifacts", "[]")):
        path = Path(client.download_artifacts(run.info.run_id, shown["path"], str(world)))
        tables[int(re.search(r"step-(\d+)", path.name)[1])] = json.loads(path.read_text())["data"]
    return 1 + len(others), values, tables, run.data.params


def read_trackio(world):
    script = (
        "import json, trackio\n"
        "runs = trackio.Api().runs('p')\n"
        "(run,) = runs\n"
        "rows = trackio.SQLiteStorage.get_logs('p', run.name)\n"
        "config = trackio.SQLiteStorage.get_run_config('p', run.name)\n"
        "print(json.dumps([len(list(runs)), rows, config], default=str))"
    )
    out = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True, timeout=60
    ).stdout
    count, rows, settings = json.loads(out.splitlines()[-1])
    values, tables = {}, {}
    for row in rows:
        step = row.pop("step")
        row.pop("timestamp")
        for name in [name for name in row if isinstance(row[name], dict)]:
            tables[step] = [list(one.values()) for one in row.pop(name)["_value"]]
        assert step not in values, "a step came twice"
        values[step] = row
    return count, values, tables, settings


READ = {"wandb": read_wandb, "mlflow": read_mlflow, "trackio": read_trackio}


def assert_whole(world, tracker, run):
    count, values, tables, settings = READ[tracker](world)
    wanted = metrics(run)
    if tracker == "mlflow":
        wanted = {
            step: {name.replace("@", "_"): value for name, value in row.items()}
            for step, row in wanted.items()
        }
    assert count == 1
    assert values.keys() == wanted.keys()
    for step, row in wanted.items():
        assert values[step] == pytest.approx(row), step
    assert tables.keys() == wanted.keys()
    for step, rows in tables.items():
        assert [row[3] for row in rows] == [turn["reward"] for turn in turns(run, step)]
        assert all(row[0] == "relu" and row[-1] == ANSWER for row in rows)
    assert str(settings["train.seed"]) == "0" and settings["log.level"] == "warn"


@pytest.mark.parametrize("tracker", TRACKERS)
def test_all_steps_arrive_once(world, tracker):
    run = world / "a"
    assert f"{STEPS} steps sent to {tracker}" in sync(run, tracker)
    assert_whole(world, tracker, run)
    assert "0 steps sent" in sync(run, tracker)
    assert_whole(world, tracker, run)


@pytest.mark.parametrize("tracker", TRACKERS)
def test_another_call_goes_on_in_the_same_run(world, tracker):
    run, whole = world / "a", (world / "a" / "metrics.jsonl").read_bytes()
    first = whole.splitlines(keepends=True)
    (run / "metrics.jsonl").write_bytes(b"".join(first[:3]) + first[3][:20])  # as a kill leaves it
    assert "3 steps sent" in sync(run, tracker)
    (run / "metrics.jsonl").write_bytes(whole)
    assert f"{STEPS - 3} steps sent" in sync(run, tracker)
    assert_whole(world, tracker, run)


@contextlib.contextmanager
def live(run, steps, wait_ms):
    """A run under way."""
    with subprocess.Popen([WRITER, run, str(steps), str(wait_ms)]) as writer:
        try:
            while not (run / "metrics.jsonl").exists():
                assert writer.poll() is None
                time.sleep(0.01)
            yield writer
        finally:
            writer.kill()


@pytest.mark.parametrize("tracker", TRACKERS)
def test_a_run_under_way_is_followed_to_its_end(world, tracker):
    run = world / "live"
    with live(run, 30, 100) as writer:
        assert "30 steps sent" in sync(run, tracker, "--follow", "--interval", "0.05")
        assert writer.wait(60) == 0
    count, values, tables, _ = READ[tracker](world)
    assert count == 1 and len(values) == len(tables) == 30


def test_ctrl_c_and_on(world):
    run, state = world / "live", world / "live" / "sync.json"
    words = command(run, "mlflow", "--follow", "--interval", "0.05")
    with live(run, 1000, 300), subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as ours:
        try:
            while not state.exists() or json.loads(state.read_text())["mlflow"]["step"] < 3:
                assert ours.poll() is None
                time.sleep(0.05)
            ours.send_signal(signal.SIGINT)
            said = ours.communicate(timeout=60)[1]
            assert ours.returncode == 130 and "goes on from here" in said, said
        finally:
            ours.kill()
    sync(run, "mlflow")
    _, values, _, _ = read_mlflow(world)
    assert values.keys() == metrics(run).keys()


@pytest.mark.parametrize("turns_wanted", [0, 2])
def test_tables_are_bounded(world, turns_wanted):
    sync(world / "a", "mlflow", "--turns", str(turns_wanted))
    tables = read_mlflow(world)[2]
    assert {len(rows) for rows in tables.values()} == ({2} if turns_wanted else set())


def test_refusals(world, monkeypatch):
    run = world / "a"
    assert "unknown tracker" in sync(run, "tensorboard", status=2)
    (run / "sync.json").write_text("[1", encoding="utf-8")
    assert "sync.json is damaged" in sync(run, "mlflow", status=1)
    (run / "sync.json").unlink()
    nowhere = command(run, "mlflow")[:-1] + ["/nowhere/python3"]
    done = subprocess.run(nowhere, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "--python" in done.stderr
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "nonsense://host")
    said = sync(run, "mlflow", status=3)
    assert said.count("\n") == 1 and said.startswith("warpgym: mlflow: "), said
    monkeypatch.setenv("WANDB_MODE", "online")
    monkeypatch.setenv("WANDB_API_KEY", "")
    said = sync(run, "wandb", status=3)
    assert "Traceback" not in said and "warpgym: wandb: " in said, said


def test_a_package_that_is_not_there(world):
    plain = subprocess.run(
        [sys.executable, "-S", "-m", "warpgym.sync", world / "a", "--to", "wandb"],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert plain.returncode == 1 and "has no package wandb: pip install wandb" in plain.stderr


