"""setup.sh at a terminal and without one, where everything is missing: with stand-ins for apt-get
and the others, so that nothing is installed."""

import os
import pty
import shutil
import subprocess

import pytest
from support import ROOT, captured, write

FAKES = {
    "dpkg-query": "exit 1",
    "apt-get": 'echo "$@" >>apt-get.log',
    "python3": "exit 1",
    "id": "echo 0",
}


@pytest.fixture
def checkout(tmp_path):
    """A folder of setup.sh's, and the environment in which it finds only the stand-ins."""
    (tmp_path / "bin").mkdir()
    for name, text in FAKES.items():
        write(tmp_path / "bin" / name, f"#!/bin/sh\n{text}\n").chmod(0o755)
    shutil.copy(ROOT / "setup.sh", tmp_path)
    (tmp_path / "python").mkdir()
    write(tmp_path / "python/requirements.txt", "torch==1\n")
    return tmp_path


def variables(checkout, **more):
    kept = {key: value for key, value in os.environ.items() if key != "YES"}
    return kept | {"PATH": f"{checkout / 'bin'}:/usr/bin:/bin", **more}


def installed(checkout):
    log = checkout / "apt-get.log"
    return log.read_text(encoding="utf-8") if log.exists() else ""


def answered(checkout, answer, **more):
    """What it prints at a terminal at which this is typed."""
    ours, its = pty.openpty()
    os.write(ours, answer)
    with subprocess.Popen(
        ["./setup.sh"],
        cwd=checkout,
        env=variables(checkout, **more),
        stdin=its,
        stdout=its,
        stderr=its,
        start_new_session=True,
    ) as run:
        os.close(its)
        text = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # its end is closed
                break
            if not part:
                break
            text += part
        assert run.wait(timeout=60) == 0
    os.close(ours)
    return text.decode()


def test_it_asks_at_a_terminal(checkout):
    text = answered(checkout, b"n\nn\n")
    assert "install with apt-get: gcc g++" in text
    assert "setup: not installed: gcc g++" in text
    assert installed(checkout) == ""
    text = answered(checkout, b"y\ny\n")
    assert "setup: installing gcc g++" in text
    assert "libjansson-dev" in installed(checkout)


def test_yes_needs_no_answer(checkout):
    text = answered(checkout, b"", YES="1")
    assert "[Y/n]" not in text
    assert "libjansson-dev" in installed(checkout)


def test_it_does_not_ask_without_a_terminal(checkout):
    done = captured(
        ["./setup.sh"], cwd=checkout, env=variables(checkout), stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0, done
    assert "[Y/n]" not in done.stderr
    assert "libjansson-dev" in installed(checkout)
