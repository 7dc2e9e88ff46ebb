"""deploy/slurm/warpgym.sbatch as Slurm would run it, with a stand-in for srun.

Both of its nodes are this machine.
"""

import json
import os
import shutil
import signal
import subprocess
import urllib.request

import pytest
from deploy_support import DEPLOY
from support import ROOT, WAIT_S, WARPGYM, alive, free_port, wait_until, write

# Starts the command behind its options once for each node, and passes SIGTERM on, as srun does.
SRUN = """#!/bin/bash
while [[ $1 == --* ]]; do
    [[ $1 == --output=* ]] && logs=${1#--output=}
    shift
done
for ((node = 0; node < SLURM_JOB_NUM_NODES; node++)); do
    "$@" >"${logs//%N/$node}" 2>&1 &
    tasks+=($!)
done
trap 'kill -TERM "${tasks[@]}"' TERM
for task in "${tasks[@]}"; do
    while kill -0 "$task" 2>/dev/null; do wait "$task"; done
done
"""


@pytest.fixture
def script(warpgym):
    if not shutil.which("redis-server"):
        pytest.skip("there is no redis-server")
    commands, home = warpgym.folder / "bin", warpgym.folder / "unpacked"
    for name, text in (("srun", SRUN), ("hostname", "#!/bin/sh\necho 127.0.0.1\n")):
        write(commands / name, text).chmod(0o755)
    home.mkdir()
    (home / "warpgym").symlink_to(WARPGYM)
    port, redis_port = free_port(), free_port()
    process = subprocess.Popen(
        ["bash", str(DEPLOY / "slurm" / "warpgym.sbatch")],
        env=warpgym.environment
        | {
            "PATH": f"{commands}:{os.environ['PATH']}",
            "SLURM_JOB_NUM_NODES": "2",
            "WARPGYM_HOME": str(home),
            "WARPGYM_RUN": str(warpgym.folder / "run"),
            "WARPGYM_WORKER_SLOTS": "1",
            "HEAD_PORT": str(port),
            "HEAD_REDIS_PORT": str(redis_port),
        },
        start_new_session=True,
    )
    yield process, warpgym.folder / "run"
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def ask(run, path, body=None):
    request = urllib.request.Request(
        (run / "server").read_text().strip() + path,
        json.dumps(body).encode() if body else None,
        {
            "Authorization": f"Bearer {(run / 'token').read_text()}",
            "Content-Type": "application/json",
        },
    )
    try:
        with urllib.request.urlopen(request, timeout=WAIT_S) as answer:
            return json.load(answer)
    except OSError:
        return {}


def test_an_allocation(script):
    process, run = script
    wait_until((run / "server").exists, "an address")
    workers = wait_until(
        lambda: len(found := ask(run, "/v1/workers").get("workers", [])) == 2 and found,
        "two workers",
    )
    source = (ROOT / "problems" / "native" / "relu" / "tests" / "fast.c").read_text()
    body = {"problem": {"id": "relu"}, "candidate": {"source": source, "language": "c"}}
    assert ask(run, "/v1/evaluations?wait_s=60", body)["outcome"] == "passed"
    for secret in ("token", "redis-password"):
        assert (run / secret).stat().st_mode & 0o077 == 0
        text = (run / secret).read_bytes().strip()
        for line in subprocess.run(
            ["ps", "-eo", "args"], capture_output=True, check=True
        ).stdout.splitlines():
            assert text not in line
    process.terminate()
    assert process.wait(WAIT_S) == 0
    assert not [worker["pid"] for worker in workers if alive(worker["pid"])]
    assert (run / "redis").is_dir() and list((run / "redis").rglob("*.aof"))
