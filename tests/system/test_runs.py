"""`warpgym runs` on made-up run directories (tests/rl/write_run.c), and its live view in a pty."""

import contextlib
import fcntl
import json
import math
import os
import pty
import re
import select
import shutil
import signal
import statistics
import struct
import subprocess
import termios
import time
from pathlib import Path

import pytest
import support
import verdicts
from run_page import Page, assert_curves

WRITER = support.WARPGYM.parent / "build" / "tests" / "rl" / "write_run"
STEPS = 23
ENTER, LEAVE = "\x1b[?1049h", "\x1b[?1049l"


def write(directory, steps=STEPS, *settings):
    subprocess.run([WRITER, directory, str(steps), "0", *settings], check=True, timeout=60)


@contextlib.contextmanager
def live(directory, wait_ms=20, steps=100000):
    """A run under way."""
    with subprocess.Popen([WRITER, directory, str(steps), str(wait_ms)]) as process:
        try:
            metrics = directory / "metrics.jsonl"
            support.wait_until(lambda: metrics.exists() and metrics.stat().st_size, "a step")
            yield process
        finally:
            process.kill()


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """runs/a and runs/b of `train`, runs/sft of `lm train`; other directories are none."""
    home = tmp_path_factory.mktemp("home")
    write(home / "runs" / "a")
    write(home / "runs" / "b", 15, "gym.turns=7", "policy.model=x y")
    sft = home / "runs" / "sft"
    lines = [
        {"step": step, "loss": 5 / step, "norm": 1, "tokens_per_s": 90.0} for step in range(1, 21)
    ]
    lines.insert(10, {"step": 10, "evaluation_loss": 0.4, "evaluation_targets": 10})
    lines.append({"step": 20, "evaluation_loss": 0.7, "evaluation_targets": 10})
    support.write_lines(sft / "metrics.jsonl", lines)
    support.write(sft / "run.json", json.dumps({"steps": 40}))
    for name in ("step-00000010", "step-00000020"):
        for file in ("model.safetensors", "config.json", "optimizer.safetensors", "state.json"):
            support.write(sft / "checkpoints" / name / file, f"{name} {file}")
    support.write(home / "runs" / "rollout" / "run.json", "{}")
    support.write(home / "runs" / "file", "")
    return home


@pytest.fixture
def copy(home, tmp_path):
    """A copy of runs/a that a test may change."""
    shutil.copytree(home / "runs" / "a", tmp_path / "a")
    return tmp_path / "a"


def words(text):
    return [line.split() for line in text.splitlines()]


# --- list, show ----------------------------------------------------------------------------------


def test_list(warpgym, home):
    run = warpgym.ok("runs", "list", cwd=home)
    title, *rows = words(run.out)
    assert " ".join(title) == "run state step reward pass rate held out loss age"
    assert [row[:5] for row in rows] == [
        ["runs/a", "finished", "23", "of", "23"],
        ["runs/b", "finished", "15", "of", "15"],
        ["runs/sft", "stopped", "20", "of", "40"],
    ]
    assert rows[1][5:9] == ["0.7534", "0.3767", "0.9", "0.2466"]
    assert rows[2][5:9] == ["-", "-", "0.7", "0.25"]


def test_list_json(warpgym, home):
    run = warpgym("runs", "list", home / "runs", home / "runs" / "sft", "--json")
    found = [json.loads(line) for line in run.out.splitlines()]
    assert [os.path.basename(one["run"]) for one in found] == ["a", "b", "sft", "sft"]
    assert found[0]["state"] == "finished" and found[0]["pid"] is None
    assert found[1]["last"]["eval/correct_rate"] == 0.9
    assert (found[2]["kind"], found[2]["step"], found[2]["steps"]) == ("lm train", 20, 40)


def test_list_nothing(warpgym, tmp_path):
    run = warpgym("runs", "list", cwd=tmp_path)
    assert run.status == support.PASSED and run.err == "warpgym: no runs in ./runs\n"
    warpgym.refused("no such directory: nowhere", "runs", "list", "nowhere", cwd=tmp_path)


def test_one_that_is_broken(warpgym, copy):
    (copy / "metrics.jsonl").write_text("nonsense\n", encoding="utf-8")
    write(copy.parent / "z", 3)
    run = warpgym("runs", "list", copy.parent, expect=support.USAGE)
    assert "metrics.jsonl:1:" in run.err
    assert [row[0] for row in words(run.out)[1:]] == [str(copy.parent / "z")]


def test_show(warpgym, home):
    run = warpgym.ok("runs", "show", "b", cwd=home)
    assert "runs/b: finished, step 15 of 15; last wrote " in run.out
    rows = words(run.out)
    assert ["gym.turns", "7"] in rows and ["policy.model", '"x', 'y"'] in rows
    assert ["reward/mean", "0.7534"] in rows
    assert ["step-00008", "8", "checkpoints/step-00008"] in rows
    assert ["steps", "40"] in words(warpgym("runs", "show", "sft", cwd=home).out)
    shown = json.loads(warpgym("runs", "show", "--json", home / "runs" / "b").out)
    assert shown["settings"] == {"gym.turns": "7", "policy.model": '"x y"'}
    assert [one["step"] for one in shown["checkpoints"]] == [4, 8, 12]


def test_show_best(warpgym, home):
    for name, best in (("a", "step-00016"), ("sft", "step-00000010")):
        run = warpgym("runs", "show", name, cwd=home)
        (line,) = [line for line in run.out.splitlines() if " best " in line]
        assert line.split()[0] == best


@pytest.mark.parametrize("command", ["show", "watch", "logs", "stop", "report", "export"])
def test_no_run(warpgym, home, command):
    more = ["out"] if command == "export" else []
    refused = (("nowhere", "there is no run nowhere"), ("runs/rollout", "not a training run"))
    for word, why in refused:
        warpgym.refused(why, "runs", command, word, *more, cwd=home)


# --- logs, stop ----------------------------------------------------------------------------------


def test_logs(warpgym, home, copy):
    run = warpgym("runs", "logs", "a", cwd=home)
    first, last = run.out.splitlines()
    assert re.fullmatch(r"\d{4}-\S+Z began pid=\d+", first)
    assert re.fullmatch(r"\d{4}-\S+Z finished step=23 why=steps", last)
    evil = {"time": "2026", "event": "x", "text": "\x1b[2Jred\n"}
    with (copy / "train.log").open("a", encoding="utf-8") as log:
        log.write(json.dumps(evil) + '\n{"time":')
    run = warpgym("runs", "logs", "-n", 1, copy)
    assert run.out == "2026 x text=?[2Jred?\n"
    assert json.loads(warpgym("runs", "logs", "-n1", "--json", copy).out) == evil
    warpgym.refused("keeps no log", "runs", "logs", "sft", cwd=home)


def test_logs_follow(warpgym, copy):
    process = warpgym.start("runs", "logs", "-f", "-n", 1, copy)
    assert b"finished" in process.stdout.readline()
    with (copy / "train.log").open("a", encoding="utf-8") as log:
        log.write('{"time":"now","event":"half')
        log.flush()
        log.write(' whole"}\n')
    assert process.stdout.readline() == b"now half whole\n"
    process.send_signal(signal.SIGINT)
    assert warpgym.finish(process).status == support.PASSED


def test_stop(warpgym, tmp_path):
    with live(tmp_path / "run") as process:
        (listed,) = (json.loads(warpgym("runs", "list", "--json", tmp_path).out),)
        assert (listed["state"], listed["pid"]) == ("running", process.pid)
        second = subprocess.run([WRITER, tmp_path / "run", "1", "0"], stderr=-1, check=False)
        assert b"a run is in progress there: another process (%d)" % process.pid in second.stderr
        run = warpgym("runs", "stop", tmp_path / "run")
        assert run.status == support.PASSED and "stopped at step" in run.out, run
        assert process.wait(support.WAIT_S) == -signal.SIGTERM
    run = warpgym("runs", "stop", tmp_path / "run")
    assert run.status == support.PASSED and "is not running" in run.err
    assert json.loads(warpgym("runs", "list", "--json", tmp_path).out)["state"] == "stopped"


def test_stop_one_that_will_not(warpgym, tmp_path):
    with live(tmp_path / "run") as process:
        process.send_signal(signal.SIGSTOP)
        stat = Path(f"/proc/{process.pid}/stat")
        support.wait_until(lambda: ") T " in stat.read_text(encoding="utf-8"), "it stands still")
        run = warpgym("runs", "stop", "--timeout", 1, tmp_path / "run")
        assert run.status == support.INFRASTRUCTURE and "still holds the run" in run.complaint


def test_stop_trusts_no_number(warpgym, copy):
    """A process that merely has the file open, or is named in it, is left alone."""
    with (
        (copy / "lock").open("w", encoding="utf-8") as lock,
        subprocess.Popen(["sleep", "60"], stdout=lock) as bystander,
    ):
        lock.write(str(bystander.pid))
        lock.flush()
        run = warpgym("runs", "stop", copy)
        assert "is not running" in run.err and bystander.poll() is None
        bystander.kill()


def test_stop_all(warpgym, tmp_path):
    home = tmp_path / "runs"
    write(home / "ended", 3)
    with live(home / "a") as first, live(home / "b") as second:
        run = warpgym.ok("runs", "stop", "--all", cwd=tmp_path)
        assert [line.split(":")[0] for line in run.out.splitlines()] == ["runs/a", "runs/b"]
        for process in (first, second):
            assert process.wait(support.WAIT_S) == -signal.SIGTERM
    run = warpgym.ok("runs", "stop", "--all", cwd=tmp_path)
    assert run.err == "warpgym: no run in ./runs is running\n"
    warpgym.refused("--all", "runs", "stop", cwd=tmp_path)
    warpgym.refused("--all", "runs", "stop", "--all", "ended", cwd=tmp_path)


# --- clean, disk ---------------------------------------------------------------------------------


def used(path):
    """As `du` counts."""
    return sum(one.lstat().st_blocks for one in [path, *path.rglob("*")]) * 512


def test_disk(warpgym, copy):
    support.write(copy / "checkpoints" / "large", "x" * 3_000_000)
    (row,) = words(warpgym.ok("runs", "list", "--disk", copy).out)[1:]
    assert row[-2:] == [f"{used(copy) / 2**20:.1f}", "MiB"]
    run = warpgym.ok("runs", "list", "--disk", "--json", copy)
    assert json.loads(run.out)["disk_bytes"] == used(copy)
    assert "disk_bytes" not in warpgym.ok("runs", "list", "--json", copy).out


def test_clean(warpgym, copy):
    other = copy.parent / "b"
    shutil.copytree(copy, other)
    warpgym.refused("--yes", "runs", "clean", copy)
    assert (copy / "metrics.jsonl").exists()
    run = warpgym.ok("runs", "clean", "--yes", copy)
    assert not copy.exists() and other.exists() and " removed" in run.out
    warpgym.refused("there is no run", "runs", "clean", "--yes", copy)
    warpgym.refused("is not a training run", "runs", "clean", "--yes", copy.parent)


def test_clean_keeps_the_last_and_the_best_checkpoint(warpgym, copy):
    support.write(copy / "checkpoints" / "unknown" / "adapter_config.json", "{}")
    rows = words(warpgym.ok("runs", "show", copy).out)
    (best,) = (row[0] for row in rows if "best" in row)
    assert best != "step-00020" and len(list((copy / "checkpoints").iterdir())) == 6
    warpgym.ok("runs", "clean", "--checkpoints", "--yes", copy)
    assert {path.name for path in (copy / "checkpoints").iterdir()} == {best, "step-00020"}
    assert warpgym.ok("runs", "show", copy)


def test_clean_asks(warpgym, copy):
    for answer, there in ((b"n\n", True), (b"\n", True), (b"y\n", False)):
        screen, ours = pty.openpty()
        with subprocess.Popen(
            [support.WARPGYM, "runs", "clean", copy], stdin=ours, stdout=-1, stderr=-1
        ) as process:
            os.write(screen, answer)
            _, said = process.communicate(timeout=support.WAIT_S)
        os.close(screen)
        os.close(ours)
        assert process.returncode == support.PASSED and b"[y/N]" in said
        assert copy.exists() == there


def test_clean_leaves_a_running_one_alone(warpgym, tmp_path):
    with live(tmp_path / "run") as process:
        warpgym.refused("is running", "runs", "clean", "--yes", tmp_path / "run")
        assert process.poll() is None and (tmp_path / "run" / "metrics.jsonl").exists()


# --- compare, export, tensorboard ----------------------------------------------------------------


def test_compare(warpgym, home):
    run = warpgym.ok("runs", "compare", "a", "b", cwd=home)
    rows = words(run.out)
    means = ["mean", "±", "deviation", "of", "up", "to", "10", "steps", "a", "b"]
    assert ["at", "step", "14,", *means] in rows and ["at", "the", "end,", *means] in rows
    parts = (range(5, 15), range(13, 23))
    rewards = [[1 - math.exp(-step / 10) for step in part] for part in parts]
    cells = [[f"{statistics.mean(part):.4g}", f"±{statistics.stdev(part):.4g}"] for part in rewards]
    assert ["reward/mean", *cells[0], *cells[0]] in rows
    assert ["reward/mean", *cells[1], *cells[0]] in rows
    assert ["gym.turns", "4", "7"] in rows
    same = words(warpgym("runs", "compare", "a", "a", "--over", 1, cwd=home).out)
    assert ["at", "step", "22", "a", "a"] in same and ["reward/mean", "0.8892", "0.8892"] in same
    assert not [row for row in same if row[:2] == ["at", "the"]]


def test_compare_json(warpgym, home):
    names = ("-m", "loss", "--metric=optim/loss")
    options = (*names, "--step=2", "--over=1", "--json")
    comparison = json.loads(warpgym("runs", "compare", "a", "b", "sft", *options, cwd=home).out)
    assert comparison["step"] == 2
    assert [set(run["at"]) for run in comparison["runs"]] == [{"loss", "optim/loss"}] * 3
    assert comparison["runs"][2]["at"] == {"loss": 2.5, "optim/loss": None}
    assert comparison["runs"][2]["final"]["loss"] == 0.25
    assert comparison["runs"][0]["at"]["optim/loss"] == pytest.approx(0.8187307530779818)
    assert comparison["settings"]["gym.turns"] == ["4", "7", None]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["a"], "name 2 to 32 runs"),
        (["a", "b", "-m", "lost"], "no run has the metric 'lost'"),
        (["a", "b", "--step", "15"], "they all have steps up to 14 in common"),
    ],
)
def test_compare_refuses(warpgym, home, arguments, why):
    warpgym.refused(why, "runs", "compare", *arguments, cwd=home)


@pytest.mark.parametrize(
    ("options", "chosen"),
    [
        (["a"], "step-00016"),
        (["a", "--checkpoint", "last"], "step-00020"),
        (["a", "-c", "step-00008"], "step-00008"),
        (["a", "--by", "optim/loss"], "step-00004"),
        (["a", "--by", "optim/loss", "--lowest"], "step-00020"),
        (["sft"], "step-00000010"),
        (["sft", "--by", "evaluation_loss"], "step-00000020"),
    ],
)
def test_export(warpgym, home, tmp_path, options, chosen):
    run = options[0]
    support.write(tmp_path / "tokenizer" / "tokenizer.json", "{}")
    out = tmp_path / "new" / "out"
    arguments = [run, out, *options[1:], "--tokenizer", tmp_path / "tokenizer"]
    exported = warpgym.ok("runs", "export", *arguments, cwd=home)
    assert f"checkpoint {chosen} of runs/{run}" in exported.err
    there = {path.name for path in out.iterdir()}
    if run == "a":
        assert there == {"adapter_config.json", "tokenizer.json"}
    else:
        assert there == {"config.json", "model.safetensors", "tokenizer.json"}
        text = (out / "config.json").read_text(encoding="utf-8")
        assert text == f"{chosen} config.json"
    warpgym.refused("is not empty", "runs", "export", *arguments, cwd=home)
    assert {path.name for path in (tmp_path / "new").iterdir()} == {"out"}


def test_export_refuses(warpgym, home, copy, tmp_path):
    out = tmp_path / "out"
    for options, why in (
        (["--checkpoint", "step-7"], "has no checkpoint step-7; it has 5, from step-00004 to"),
        (["--by", "lost"], "no checkpoint has lost, so the best one is unknown"),
        (["--tokenizer", tmp_path], "no tokenizer"),
    ):
        warpgym.refused(why, "runs", "export", "a", out, *options, cwd=home)
    line = json.loads((copy / "checkpoints.jsonl").read_text(encoding="utf-8").splitlines()[-1])
    line |= {"name": "far", "where": "tinker://weights/far"}
    with (copy / "checkpoints.jsonl").open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(line) + "\n")
    run = warpgym("runs", "export", copy, out, "-c", "far")
    assert "tinker://weights/far is on a Tinker server: set TINKER_BASE_URL" in run.complaint
    assert not out.exists()


def test_tensorboard(warpgym, home, tmp_path):
    nothing = {"PATH": str(tmp_path)}
    for names, where in (
        ([], "--logdir=runs"),
        (["a"], "--logdir=runs/a/tensorboard"),
        (["a", "b"], "--logdir_spec=a:runs/a/tensorboard,b:runs/b/tensorboard"),
    ):
        run = warpgym("runs", "tensorboard", *names, cwd=home, environment=nothing)
        assert run.out == f"tensorboard {where} --port=6006\n"
        assert "not on the PATH" in run.err
    run = warpgym("runs", "tensorboard", "a", "--print", cwd=home, environment=nothing)
    assert run.out.startswith("tensorboard --logdir") and run.err == ""
    program = support.write(tmp_path / "tensorboard", '#!/bin/sh\necho "started $*"\n')
    program.chmod(0o755)
    run = warpgym("runs", "tensorboard", "a", "-p7", cwd=home, environment=nothing)
    assert run.out == "started --logdir=runs/a/tensorboard --port=7\n"
    run = warpgym("runs", "tensorboard", "a", "--print", cwd=home, environment=nothing)
    assert run.out.startswith("tensorboard --logdir") and run.err == ""
    program.chmod(0o644)
    run = warpgym("runs", "tensorboard", "a", cwd=home, environment=nothing)
    assert run.status == support.INFRASTRUCTURE and "Permission denied" in run.complaint
    run = warpgym("runs", "tensorboard", "sft", cwd=home, environment=nothing)
    assert run.status == support.USAGE and "`warpgym lm train` writes none" in run.complaint


# --- report --------------------------------------------------------------------------------------


def test_report(warpgym, home, copy):
    """Of what there is; texts of models stay texts, and half a line is none."""
    evil = "</pre></details><script>alert(1)</script><!--"
    last = support.read_lines(copy / "traces.jsonl")[-1]
    trace = last | {"step": STEPS, "turn": 0, "problem": evil, "answer": evil, "status": evil}
    trace["verdict"] = verdicts.whole({"error": {"message": evil}})
    with (copy / "traces.jsonl").open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(trace) + '\n{"step": 99, "prob')
    run = warpgym("runs", "report", copy, "-o", "-")
    assert run.status == support.PASSED and evil not in run.out and "<script>alert" not in run.out
    page = Page(run.out)
    assert page.text.count(evil) == 3 and "unknown" in page.text and "step 0, relu" in page.text
    shown = assert_curves(page, support.read_lines(copy / "metrics.jsonl"))
    assert shown >= {"reward/mean", "mismatch/mismatch_kl", "time/rollout"}
    page = Page(warpgym("runs", "report", "sft", "-o", "-", cwd=home).out)
    merged = {}
    for line in support.read_lines(home / "runs" / "sft" / "metrics.jsonl"):
        merged.setdefault(line["step"], {}).update(line)
    assert assert_curves(page, merged.values()) == set(merged[10]) - {"step", "evaluation_targets"}
    assert "steps40" in page.text
    (copy / "traces.jsonl").write_text("nonsense\n", encoding="utf-8")
    warpgym.refused("traces.jsonl", "runs", "report", copy)


def test_report_of_many_steps(warpgym, tmp_path):
    """Lines are of means then, and numbers of the last steps."""
    steps = 3000
    support.write(tmp_path / "run" / "run.json", "{}")
    lines = [{"step": step, "loss": step / steps} for step in range(1, steps + 1)]
    support.write_lines(tmp_path / "run" / "metrics.jsonl", lines)
    text = warpgym("runs", "report", tmp_path / "run", "-o", "-").out
    assert "Points are means of up to 8 values." in text
    (line,) = re.findall(r'<path class="line s0" d="([^"]+)"', text)
    assert line.count("L") == 3000 / 8 - 1
    _, *rows = Page(text).charts["Loss of fine-tuning"]
    assert [int(row[0]) for row in rows] == list(range(2501, 3001))


# --- watch ---------------------------------------------------------------------------------------


def test_watch_into_a_pipe(warpgym, home, tmp_path):
    run = warpgym("runs", "watch", "a", cwd=home)
    *lines, end = run.out.splitlines()
    assert [line.split("  ")[0] for line in lines] == [f"step {step}" for step in range(STEPS)]
    assert "reward 0.7534" in lines[14] and "held out 0.9" in lines[14]
    assert end == "runs/a: finished"
    with live(tmp_path / "run", steps=12):
        process = warpgym.start("runs", "watch", tmp_path / "run")
        first, *_, last, end = process.stdout.read().splitlines()
        process.wait(support.WAIT_S)
    assert first.startswith(b"step 0  reward 0  ") and last.startswith(b"step 11  ")
    assert end.endswith(b": finished")


class Terminal:
    """A command in a terminal of its own, and the pictures that it draws."""

    def __init__(self, warpgym, *arguments, size=(24, 80), environment=None):
        self.master, slave = pty.openpty()
        self.resize(*size)
        self.settings = termios.tcgetattr(slave)
        self.slave = slave
        self.process = warpgym.start(
            *arguments,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            environment={"TERM": "xterm"} | (environment or {}),
        )
        self.text = ""

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self):
        if select.select([self.master], [], [], 0.05)[0]:
            self.text += os.read(self.master, 1 << 16).decode("utf-8", "replace")

    def picture(self):
        """The last whole one, without colours."""
        parts = re.sub(r"\x1b\[\d*m", "", self.text).split("\x1b[H")
        whole = [part for part in parts[1:] if "\x1b[J" in part]
        if not whole:
            return []
        text = whole[-1].split("\x1b[J")[0]
        return [line.removesuffix("\x1b[K") for line in text.split("\r\n")]

    def wait_for(self, condition, what):
        deadline = time.monotonic() + support.WAIT_S
        while not condition(self.picture()):
            assert time.monotonic() < deadline, (what, self.picture())
            self.read()
        return self.picture()

    def end(self):
        deadline = time.monotonic() + support.WAIT_S
        while self.process.poll() is None:
            self.read()
            assert time.monotonic() < deadline
        while select.select([self.master], [], [], 0.05)[0]:
            self.read()
        same = termios.tcgetattr(self.slave) == self.settings
        os.close(self.master)
        os.close(self.slave)
        return self.process.returncode, same


def has(text):
    return lambda picture: any(text in line for line in picture)


def step_of(picture):
    return int(re.search(r"step (\d+) of 100000", "\n".join(picture))[1])


@pytest.mark.parametrize("how", ["q", "signal"])
def test_watch(warpgym, tmp_path, how):
    with live(tmp_path / "run", wait_ms=30) as writer:
        terminal = Terminal(warpgym, "runs", "watch", tmp_path / "run")
        picture = terminal.wait_for(has(f"running (process {writer.pid})"), "the run")
        assert terminal.text.startswith(ENTER)
        assert len(picture) <= 24 and max(map(len, picture)) <= 80
        first = step_of(picture)
        terminal.wait_for(lambda picture: step_of(picture) > first + 8, "more steps")
        terminal.wait_for(has("last checkpoint: step-"), "a checkpoint")
        picture = terminal.picture()
        assert [line.split()[0] for line in picture[5:11]] == [
            *("reward", "pass", "speedup", "held", "loss", "mismatch")
        ]
        assert "▁" in picture[5] and "█" in picture[5]
        assert has("rollout 1 of 2")(picture)
        writer.kill()
        writer.wait()
        terminal.wait_for(has("stopped"), "its end")
        if how == "q":
            os.write(terminal.master, b"q")
        else:
            terminal.process.send_signal(signal.SIGINT)
        assert terminal.end() == (support.PASSED, True)
        assert LEAVE in terminal.text


def test_watch_small(warpgym, home):
    """Any size, a locale without UTF-8, no colour; and the picture follows a new size."""
    plain = {"LC_ALL": "C", "NO_COLOR": "1"}
    terminal = Terminal(
        warpgym, "runs", "watch", home / "runs" / "a", size=(4, 30), environment=plain
    )
    picture = terminal.wait_for(bool, "a picture")
    assert len(picture) == 4 and max(map(len, picture)) <= 30
    assert picture[0] == "a  finished"
    terminal.resize(24, 80)
    picture = terminal.wait_for(lambda picture: len(picture) > 10, "a larger one")
    assert "_" in picture[5] and "#" in picture[5] and picture[5].isascii()
    assert "\x1b[1m" not in terminal.text
    os.write(terminal.master, b"q")
    assert terminal.end() == (support.PASSED, True)


def test_help(warpgym):
    names = ("list", "show", "watch", "logs", "stop", "report", "compare", "export", "tensorboard")
    overview = warpgym("runs", "--help").out
    for name in names:
        assert f"runs {name}" in overview
        text = warpgym("runs", name, "--help").out
        assert text.startswith(f"Usage: warpgym runs {name} [options]") and "Examples" in text
