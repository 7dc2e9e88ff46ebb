"""`warpgym config`: a file for this machine, whether one is valid, and what counts."""

import json
import os
import re
import shutil
import socket
import stat

import pytest
from support import PASSED, ROOT, USAGE, fast, write
from test_settings import origin


@pytest.fixture(scope="module")
def made(module_warpgym, tmp_path_factory):
    file = tmp_path_factory.mktemp("config") / "below" / "config.yaml"
    run = module_warpgym.ok("config", "init", file)
    assert run.out == f"{file}\n"
    return file


def test_init_output_reads_back(warpgym, made):
    assert stat.S_IMODE(made.stat().st_mode) == 0o600
    run = warpgym("config", "check", made)
    assert (run.status, run.out, run.err) == (PASSED, f"{made}: good\n", "")
    shown = warpgym("config", "show", "--config", made)
    assert shown.status == PASSED and shown.out.startswith(f"# file: {made}\n")
    assert origin(shown, "run.memory_bytes")[1].startswith(f"file {made}:")
    assert origin(shown, "check.trials") == ("3", "default")


def test_init_has_every_setting_with_its_default(warpgym, made):
    text = made.read_text(encoding="utf-8")
    names = []
    for row in warpgym("settings", "--markdown").out.splitlines()[2:]:
        section, name = row.split("`")[1].split(".")
        (body,) = re.findall(rf"^{section}:\n((?:  .*\n|\n)*)", text, re.MULTILINE)
        assert re.search(rf"^  (# )?{name}: ", body, re.MULTILINE), name
        names.append(name)
    # Without the comment signs it is a file of defaults, and valid too.
    defaults = re.sub(rf"^  # (?=({'|'.join(names)}): )", "  ", text, flags=re.MULTILINE)
    warpgym.ok("config", "check", write(warpgym.folder / "defaults.yaml", defaults))


OUR_OWN = [*sorted(ROOT.glob("configs/*.yaml")), ROOT / "demo/train/train.yaml"]


@pytest.mark.parametrize("file", OUR_OWN, ids=lambda file: file.name)
def test_our_own_files_are_good(warpgym, file):
    assert warpgym.ok("config", "check", file, cwd=ROOT).out == f"{file}: good\n"


def test_init_replaces_only_with_force(warpgym, made):
    copy = shutil.copy(made, warpgym.folder / "mine.yaml")
    warpgym.refused("--force replaces it", "config", "init", copy)
    assert made.read_bytes() == (warpgym.folder / "mine.yaml").read_bytes()


def test_init_finds_a_free_port(warpgym):
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind(("127.0.0.1", 10907))
            taken.listen()
        except OSError:
            pass  # another process has it: as good
        file = warpgym.folder / "config" / "warpgym" / "config.yaml"
        assert warpgym("config", "init").out == f"{file}\n"
    text = file.read_text(encoding="utf-8")
    port = int(re.search(r'^  listen: "127\.0\.0\.1:(\d+)"', text, re.MULTILINE)[1])
    assert port > 10907 and f"{port} is the first free port" in text
    assert warpgym("config", "init", "--force").status == PASSED


REFUSED = [
    ("server:\n  listem: x\n", ":2:3: unknown setting 'server.listem'; did you mean"),
    ("sever:\n  listen: x\n", ":1:1: unknown section 'sever'; did you mean 'server'?"),
    ("run: {threads: many}\n", "is not a whole number"),
    (
        "log: {level: loud}\n",
        ":1:14: log.level: unknown value 'loud'; choose one of error, warn, info, debug",
    ),
    ("server: {listen: '127.0.0.1:99999'}\n", "server.listen: "),
    ("server: {listen: '0.0.0.0:80'}\n", "set server.token, or server.insecure"),
    (
        "queue: {url: 'http://head'}\n",
        "queue.url: invalid URL 'http://head' (write sqlite:PATH or redis://HOST:PORT)",
    ),
    ("queue: {url: 'redis://'}\n", "queue.url: "),
    ("run: {\n", "config.yaml:"),
]

EVERY_ERROR = """\
gym: {reward: kevinn}
train: {method: trlooo, estimator: nosuch, loss: foo, learner: foo, backend: foo}
gpu: {devices: first}
policy: {url: "ftp://host"}
client: {url: "host:1"}
server: {listen: "0.0.0.0:80"}
timing: {min_samples: 9, max_samples: 8}
"""
IN_THE_FILE = [
    ("1:15", "gym.reward: unknown value 'kevinn'; did you mean 'kevin'?"),
    ("2:17", "train.method: unknown value 'trlooo'; did you mean 'trloo'?"),
    ("2:36", "train.estimator: unknown value 'nosuch'; choose one of auto, trloo"),
    ("2:50", "train.loss: unknown value 'foo'; choose one of importance_sampling, ppo"),
    ("2:55", "unknown setting 'train.learner'"),
    ("2:78", "train.backend: unknown value 'foo'; choose one of engine, tinker"),
    ("3:16", "gpu.devices: 'first' is neither an ordinal nor a UUID"),
    ("4:15", "policy.url: unknown policy 'ftp://host'"),
    ("5:15", "client.url: 'host:1' is not a server's address"),
    ("7:23", "timing.min_samples (9) is above timing.max_samples (8)"),
    ("6:18", "server.listen: others reach 0.0.0.0:80"),
]


def test_check_reports_every_error(warpgym):
    file = write(warpgym.folder / "config.yaml", EVERY_ERROR)
    run = warpgym("config", "check", file)
    assert run.status == USAGE
    lines = run.err.splitlines()
    assert len(lines) == len(IN_THE_FILE), run
    for line, (place, text) in zip(lines, IN_THE_FILE, strict=True):
        assert line.startswith(f"warpgym: {file}:{place}: {text}"), line


def test_check_of_several_files(warpgym):
    good = write(warpgym.folder / "good.yaml", "run: {threads: 2}\n")
    bad = write(warpgym.folder / "bad.yaml", "run: {threads: two}\n")
    run = warpgym("config", "check", good, bad)
    assert run.status == USAGE and run.out == f"{good}: good\n" and f"{bad}:1:16: " in run.err


# Commands that would begin something before they use the setting.
BEGINNERS = [
    ["train", "{file}", "--out", "run"],
    ["serve", "--config", "{file}", "--queue", "sqlite:queue.db"],
    ["worker", "--config", "{file}", "--queue", "sqlite:queue.db"],
    ["rollout", "--config", "{file}", "--policy", "scripted:none", "-o", "out.jsonl", "relu"],
    ["eval", "--config", "{file}", "-p", "softmax", "x.c"],
    ["runs", "resume", "{run}"],
    ["runs", "eval", "{run}", "--checkpoint", "base"],
]


@pytest.mark.parametrize("command", BEGINNERS, ids=lambda words: " ".join(words[:2]))
def test_all_settings_are_checked_first(warpgym, command):
    """Every error is reported, and nothing is made."""
    text = "train: {loss: foo}\nmcp: {idle_m: 3}\ntiming: {min_samples: 9, max_samples: 8}\n"
    file = write(warpgym.folder / "config.yaml", text)
    run_folder = warpgym.folder / "old"
    write(run_folder / "config.yaml", text)
    write(run_folder / "lock", "")
    write(run_folder / "metrics.jsonl", '{"step": 1}\n')
    words = [word.format(file=file, run=run_folder) for word in command]
    before = sorted(warpgym.folder.rglob("*"))
    run = warpgym(*words)
    assert run.status == USAGE
    said = (
        "train.loss: unknown value 'foo'",
        "'mcp.idle_m'; did you mean 'mcp.idle_ms'?",
        "timing.min_samples (9) is above",
    )
    assert all(part in run.err for part in said), run
    assert sorted(warpgym.folder.rglob("*")) == before


@pytest.mark.parametrize(("text", "says"), REFUSED)
def test_check_reports_errors(warpgym, text, says):
    run = warpgym.refused(says, "config", "check", write(warpgym.folder / "config.yaml", text))
    assert str(warpgym.folder / "config.yaml") in run.complaint


def test_check_needs_its_file(warpgym):
    warpgym.refused("warpgym/config.yaml", "config", "check")


def test_check_warns_of_a_secret_that_others_may_read(warpgym):
    file = write(warpgym.folder / "config.yaml", "server: {token: correct-horse}\n")
    file.chmod(0o644)
    run = warpgym("config", "check", file)
    assert run.status == PASSED and "chmod 600" in run.err and "horse" not in run.err
    file.chmod(0o600)
    assert warpgym("config", "check", file).err == ""


def test_which_file_counts(warpgym, tmp_path):
    key = "run.threads"
    files = {
        "named": write(tmp_path / "named.yaml", "run: {threads: 1}\n"),
        "variable": write(tmp_path / "variable.yaml", "run: {threads: 2}\n"),
        "user": write(tmp_path / "config" / "warpgym" / "config.yaml", "run: {threads: 3}\n"),
    }
    variable = {"WARPGYM_CONFIG": str(files["variable"])}
    run = warpgym("config", "show", "--config", files["named"], environment=variable)
    assert origin(run, key) == ("1", f"file {files['named']}:1")
    assert origin(warpgym("config", "show", environment=variable), key)[0] == "2"
    assert origin(warpgym("config", "show"), key)[0] == "3"
    files["user"].unlink()
    assert warpgym("config", "show").out.startswith("# no file\n")
    warpgym.refused("none.yaml", "config", "show", "--config", tmp_path / "none.yaml")


def test_the_file_of_all_users(warpgym, tmp_path):
    """In a mount namespace, where /etc is the test's own."""
    file = write(tmp_path / "etc" / "warpgym" / "config.yaml", "run: {threads: 4}\n")
    if os.system("unshare -rm true 2>/dev/null") != 0:
        pytest.skip("unshare -rm is refused here: no /etc of one's own")
    wrapper = ["unshare", "-rm", "sh", "-c", 'mount --bind "$0" /etc && exec "$@"']
    run = warpgym("config", "show", wrapper=[*wrapper, str(file.parents[1])])
    assert origin(run, "run.threads") == ("4", "file /etc/warpgym/config.yaml:1")
    write(tmp_path / "config" / "warpgym" / "config.yaml", "check: {trials: 9}\n")
    run = warpgym("config", "show", wrapper=[*wrapper, str(file.parents[1])])
    assert origin(run, "run.threads")[1] == "default"


def test_names_of_kernelgym(warpgym):
    theirs = {
        "API_HOST": "10.0.0.5",
        "API_PORT": "8001",
        "REDIS_HOST": "head",
        "GPU_DEVICES": "[0,1]",
        "LOG_LEVEL": "INFO",
    }
    run = warpgym("config", "show", environment=theirs)
    assert origin(run, "server.listen") == ('"10.0.0.5:8001"', "environment API_HOST")
    assert origin(run, "queue.url") == ('"redis://head:6379"', "environment REDIS_HOST")
    assert origin(run, "gpu.devices") == ('"0,1"', "environment GPU_DEVICES")
    assert origin(run, "log.level") == ('"info"', "environment LOG_LEVEL")
    secret = warpgym("config", "show", environment=theirs | {"REDIS_PASSWORD": "correct-horse"})
    assert "horse" not in secret.out and "# url: not shown # environment REDIS_HOST" in secret.out


def test_log_as_json(warpgym):
    run = warpgym.eval(
        *("--problem", "relu", fast("relu")),
        environment={"WARPGYM_LOG_FORMAT": "json", "WARPGYM_LOG": "debug"},
        expect=PASSED,
    )
    records = [json.loads(line) for line in run.err.splitlines()]
    assert records
    for record in records:
        assert {"time", "level", "module", "msg"} <= record.keys(), record
    assert run.verdict["id"] in {record.get("job") for record in records}
