"""Completions of shells, and manual pages: made of the tables that --help is made of."""

import re
import shutil
import subprocess

import pytest
from support import PASSED, USAGE


def run(*words, text=None):
    done = subprocess.run(words, input=text, capture_output=True, text=True, timeout=60, check=True)
    assert not done.stderr, done.stderr
    return done.stdout


def names(warpgym):
    rows = (line[2:].split("  ")[0] for line in warpgym("help", "all").out.splitlines())
    return [name for name in rows if name.strip()]


def options(warpgym, name):
    """Of a command, by its help."""
    text = warpgym(*name.split(), "--help").out
    rows = re.findall(r"^  (?:-(\w), |    )--(?:\[no-\])?([a-z-]+)", text, re.MULTILINE)
    return {long for _, long in rows if long != "help"}, {one for one, _ in rows if one}


@pytest.fixture
def bash(warpgym):
    script = warpgym("completion", "bash").out
    run("bash", "-n", text=script)

    def complete(*words):
        line = " ".join(f"'{word}'" for word in words)
        ask = f"COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _warpgym; "
        ask += 'printf "%s\\n" "${COMPREPLY[@]}"'
        return run("bash", "-c", script + ask).split()

    return complete


def test_bash(warpgym, bash):
    assert bash("warpgym", "ev") == ["eval"]
    assert set(bash("warpgym", "")) == {name.split()[0] for name in names(warpgym)} | {
        "--help", "--version",
    }  # fmt: skip
    assert bash("warpgym", "problem", "sh") == ["show"]
    assert bash("warpgym", "report", "--by", "l") == ["level", "language"]
    assert bash("warpgym", "report", "--by", "=", "lev") == ["level"]
    assert bash("warpgym", "eval", "answer") == [], "a file: the shell's own"
    for name in ("eval", "problem show", "runs eval", "lm serve"):
        long, short = options(warpgym, name)
        found = set(bash("warpgym", *name.split(), "-"))
        assert found == {f"--{one}" for one in long | {"help"}} | {f"-{one}" for one in short}


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_read_it(warpgym, tmp_path, shell):
    if not shutil.which(shell):
        pytest.skip(f"no {shell} here")
    script = tmp_path / "script"
    script.write_text(warpgym("completion", shell).out)
    run(shell, "-n", script)


def test_fish(warpgym):
    if not shutil.which("fish"):
        pytest.skip("no fish here")
    script = warpgym("completion", "fish").out

    def complete(line):
        rows = run("fish", "--no-config", "-c", f"{script}\ncomplete -C '{line}'").splitlines()
        return {row.split("\t")[0] for row in rows}

    assert complete("warpgym ev") == {"eval"}
    assert complete("warpgym problem ") == {"list", "show", "new", "check"}
    assert "level" in complete("warpgym report --by ")
    assert "--checkpoint" in complete("warpgym runs eval --che")
    assert complete("warpgym eval --che") == set()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_option_is_there(warpgym, shell):
    script = warpgym("completion", shell).out
    for name in names(warpgym):
        long, _ = options(warpgym, name)
        mark = f"__fish_warpgym_is {name}'" if shell == "fish" else f"    '{name}')"
        parts = [part for part in script.split("\n") if mark in part] if shell == "fish" else [
            script.split(mark)[1].split("\n    '")[0]
        ]  # fmt: skip
        for option in long:
            prefix = "-l " if shell == "fish" else "--"
            assert any(re.search(f"{prefix}{option}\\b", part) for part in parts), (name, option)


def test_a_shell_that_is_none(warpgym):
    found = warpgym("completion", "tcsh")
    assert found.status == USAGE and "none of bash, zsh, fish" in found.complaint


def test_manual(warpgym, tmp_path):
    folder = tmp_path / "share" / "man1"
    assert warpgym("man", "--out", folder).status == PASSED
    pages = {f"warpgym-{name.replace(' ', '-')}.1" for name in names(warpgym)} | {"warpgym.1"}
    assert {page.name for page in folder.iterdir()} == pages
    one = folder / "warpgym-problem-check.1"
    assert warpgym("man", "problem", "check").out == one.read_text()
    assert warpgym("man").out == (folder / "warpgym.1").read_text()
    assert "no such command" in warpgym("man", "evil").complaint
    for page in folder.iterdir():
        text = page.read_text()
        assert text.isascii() and text.startswith(".TH ")
        long, _ = options(warpgym, page.stem.removeprefix("warpgym-").replace("-", " ", 1)) if (
            page.stem != "warpgym"
        ) else (set(), None)  # fmt: skip
        for option in long:
            assert option.replace("-", "\\-") in text, (page.name, option)
    if shutil.which("groff"):
        for page in sorted(folder.iterdir()):
            done = subprocess.run(
                ["groff", "-man", "-ww", "-z", "-Tutf8", page],
                capture_output=True, text=True, timeout=60, check=True,
            )  # fmt: skip
            assert done.stderr == "", done.stderr
