"""`make install`, `make deb` and `make` itself, on a machine that lacks something."""

import json
import os
import shutil

import pytest
from support import CHECKOUT, ROOT, captured, fast

pytestmark = pytest.mark.skipif(CHECKOUT != ROOT, reason="a sanitized program is not installed")
VERSION = (ROOT / "VERSION").read_text(encoding="utf-8").strip()


def made(*words, **options):
    return captured(["make", "-C", str(ROOT), "--no-print-directory", *words], **options)


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def judges(program, tmp_path):
    """What is installed there works by itself, from elsewhere."""
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    command = [str(program), "eval", "--json", "--quiet", "--problem", "softmax", fast("softmax")]
    done = captured(command, cwd=tmp_path, env=home)
    assert done.returncode == 0, done
    assert json.loads(done.stdout)["status"] == "passed"


def test_install_and_uninstall(tmp_path):
    to = tmp_path / "root"
    where = [f"DESTDIR={to}", "PREFIX=/opt/gym"]
    assert made("install", *where).returncode == 0
    below = to / "opt/gym"
    (below / "lib/warpgym/problems/left_by_an_older_version").mkdir()
    assert made("install", *where).returncode == 0
    found = files(below)
    assert not (below / "lib/warpgym/problems/left_by_an_older_version").exists()
    for name in (
        *("lib/warpgym/warpgym", "share/man/man1/warpgym.1", "share/man/man1/warpgym-eval.1"),
        *("share/bash-completion/completions/warpgym", "share/zsh/site-functions/_warpgym"),
        *("share/fish/vendor_completions.d/warpgym.fish", "share/doc/warpgym/LICENSE"),
    ):
        assert name in found, found
    for path in below.rglob("*"):
        assert path.is_symlink() or not path.stat().st_mode & 0o022, path
    judges(below / "bin/warpgym", tmp_path)
    assert made("uninstall", *where).returncode == 0
    assert files(below) == []
    assert not (below / "bin/warpgym").is_symlink()


def test_prefix_is_absolute(tmp_path):
    done = made("install", "PREFIX=here", f"DESTDIR={tmp_path}")
    assert "PREFIX 'here' is not an absolute path" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not shutil.which("dpkg-shlibdeps"), reason="no dpkg-dev")
def test_debian_package(tmp_path):
    done = captured([str(ROOT / "scripts/deb"), VERSION, str(tmp_path)])
    assert done.returncode == 0, done
    (package,) = tmp_path.glob("*.deb")
    again = tmp_path / "again"
    captured([str(ROOT / "scripts/deb"), VERSION, str(again)])
    assert (again / package.name).read_bytes() == package.read_bytes()
    depends = captured(["dpkg-deb", "-f", str(package), "Depends"]).stdout
    for library in ("libc6", "libcurl4", "libjansson4", "libseccomp2", "libopenblas0-pthread"):
        assert library in depends, depends
    assert captured(["dpkg-deb", "-x", str(package), str(tmp_path / "root")]).returncode == 0
    judges(tmp_path / "root/usr/bin/warpgym", tmp_path)


def test_libraries_that_are_missing(tmp_path):
    """One line names the headers, one what installs them; no file is compiled."""
    for name in ("bin", "no_headers"):
        (tmp_path / name).mkdir()
    compiler = f"gcc -nostdinc -isystem {tmp_path / 'no_headers'}"
    done = captured([str(ROOT / "scripts/libraries"), compiler])
    assert done.returncode == 1
    headers, packages = done.stderr.splitlines()[:2]
    assert headers.startswith("make: headers are missing: jansson.h libfyaml.h")
    assert packages.startswith("make: they come with: apt-get install libjansson-dev libfyaml-dev")
    (tmp_path / "no_headers/jansson.h").touch()
    headers = captured([str(ROOT / "scripts/libraries"), compiler]).stderr.splitlines()[0]
    assert "jansson.h" not in headers
    assert "libfyaml.h" in headers
    assert captured([str(ROOT / "scripts/libraries"), "gcc"]).returncode == 0
    done = captured([str(ROOT / "scripts/libraries"), "no_such_cc -m64"])
    assert (done.returncode, "no compiler 'no_such_cc -m64'" in done.stderr) == (1, True)


def test_the_packages_of_missing_libraries_are_those_of_setup():
    """Each is one that setup.sh installs."""
    setup = (ROOT / "setup.sh").read_text(encoding="utf-8").split("packages=(")[1].split(")")[0]
    table = (ROOT / "scripts/libraries").read_text(encoding="utf-8").split("table='")[1]
    rows = [row.split() for row in table.split("'")[0].strip().splitlines()]
    assert len(rows) > 10
    assert [row[1] for row in rows if row[1] not in setup.split()] == []
