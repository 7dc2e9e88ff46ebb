"""docs/guide/deploy.md, command by command: a head and two nodes, in a network of the test's own.

The blocks that name a role (```sh head) run unchanged, each role in its own folder and shell,
which persist from block to block. All share one network namespace, in which
`head` is this machine; so ports are those of the page, and free.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess

import pytest
from deploy_support import refuses
from support import ROOT, WARPGYM, kill, wait_until, write

PAGE = (ROOT / "docs" / "guide" / "deploy.md").read_text(encoding="utf-8")
NEEDED = ["unshare", "ip", "curl", "openssl", "redis-server", "redis-cli"]
NETWORK = 'ip link set lo up && mount --bind "$0" /etc/hosts && exec "$@"'


def blocks(role):
    return re.findall(rf"^```sh {role}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


class Shell:
    """A role's shell. What it leaves in the background are its children."""

    def __init__(self, folder, environment, enter):
        self.folder = folder
        folder.mkdir()
        self.process = subprocess.Popen(
            [*enter, "bash"],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def __call__(self, text):
        """Its output; every command has to succeed. One in the background is at `$!`."""
        self.process.stdin.write(f"set -e\n{text}\nset +e\necho; echo ended ${{!:-0}}\n")
        self.process.stdin.flush()
        lines = []
        for line in self.process.stdout:
            if line.startswith("ended "):
                self.background = int(line.split()[1])
                return "".join(lines)
            lines.append(line)
        raise AssertionError(f"it failed:\n{text}\n{''.join(lines)}{self.logs()}")

    def logs(self):
        return "".join(f"--- {log}\n{log.read_text()}" for log in self.folder.glob("*.log"))

    def close(self):
        """Ends what it left in the background, too; of a role that went well, that is nothing."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture
def scene(warpgym):
    if absent := [name for name in NEEDED if not shutil.which(name)]:
        pytest.skip(f"not installed: {', '.join(absent)}")
    hosts = write(warpgym.folder / "hosts", "127.0.0.1 localhost head\n")
    mine = [] if os.geteuid() == 0 else ["-c", "--keep-caps"]
    if why := refuses("unshare", *mine, "-mn", "sh", "-c", NETWORK, str(hosts), "true"):
        pytest.skip(why)
    commands = warpgym.folder / "bin"
    commands.mkdir()
    (commands / "warpgym").symlink_to(WARPGYM)
    environment = warpgym.environment | {
        "PATH": f"{commands}:{os.environ['PATH']}",
        "WARPGYM_WORKER_SLOTS": "1",
    }
    holder = subprocess.Popen(
        ["unshare", *mine, "-mn", "sh", "-c", NETWORK, str(hosts), "sh", "-c", "echo; exec cat"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    holder.stdout.readline()
    users = [] if os.geteuid() == 0 else ["--user", "--preserve-credentials"]
    enter = ["nsenter", f"--target={holder.pid}", "--net", "--mount", *users, "--wd=."]
    shells = {}
    for name in ("head", "node1", "node2", "client"):
        shells[name] = Shell(warpgym.folder / name, environment, enter)
    yield shells
    for shell in shells.values():
        shell.close()
    for pidfile in (warpgym.folder / "head").glob("redis.pid"):
        kill(int(pidfile.read_text()))
    holder.communicate()


def give(scene, file, *others):
    for other in others:
        shutil.copy(scene["head"].folder / file, scene[other].folder / file)


def test_the_page(scene):
    head, client = scene["head"], scene["client"]
    nodes = [scene["node1"], scene["node2"]]
    for block in blocks("head"):
        shown = head(block)
    assert "listen:" in shown and "server.listen" not in shown
    password = (head.folder / "redis-password").read_text().strip()
    assert password not in shown
    server = head.background
    give(scene, "environment", "node1", "node2")
    give(scene, "token", "client")
    for node in nodes:
        (block,) = blocks("node")
        assert "Sandbox" in node(block)
    wait_until(
        lambda: "200" in client("curl -s -o /dev/null -w '%{http_code}' http://head:10907/health"),
        "a healthy server",
    )
    listed = 'curl -s -H "Authorization: Bearer $(cat token)" http://head:10907/v1/workers'
    wait_until(lambda: client(listed).count('"claims"') == 2, "two workers")
    (block,) = blocks("client")
    evaluation = json.loads(client(block).strip().splitlines()[-1])
    assert (evaluation["state"], evaluation["outcome"]) == ("done", "passed"), evaluation
    follow_the_job(nodes, evaluation)
    # A node that is stopped leaves the list; the other one continues.
    nodes[0](f"kill -TERM {nodes[0].background}; wait {nodes[0].background}")
    wait_until(lambda: client(listed).count('"claims"') == 1, "one worker less")
    assert json.loads(client(block).strip().splitlines()[-1])["state"] == "done"
    nodes[1](f"kill -TERM {nodes[1].background}; wait {nodes[1].background}")
    head(f"kill -TERM {server}; wait {server}")


def follow_the_job(nodes, evaluation):
    """The page's advice: a node's lines of one job; and everything in the logs is JSON."""
    records = [
        json.loads(line)
        for node in nodes
        for line in (node.folder / "worker.log").read_text().splitlines()
    ]
    of_job = [record for record in records if record.get("job") == evaluation["id"]]
    assert "judged" in {record["msg"] for record in of_job}, records
