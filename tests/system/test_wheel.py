"""`make wheel`: what pip installs of it works by itself, from anywhere, and leaves again.

Without a network, into an environment of nothing else. A path file lends it the PyTorch and NumPy
of .venv where a test wants them."""

import json
import os
import re
import signal
import subprocess
import zipfile

import pytest
from support import (
    CHECKOUT,
    INFRASTRUCTURE,
    PASSED,
    PYTHON,
    ROOT,
    SOME_FAILED,
    TIMEOUT_S,
    USAGE,
    WARPGYM,
    captured,
    fast,
    kernelbench_module,
    write,
    wrong,
)

pytestmark = [
    pytest.mark.skipif(not PYTHON.exists(), reason="no .venv: `make setup` makes it"),
    pytest.mark.skipif(CHECKOUT != ROOT, reason="a sanitized program is not one to pack"),
]
VERSION = (ROOT / "VERSION").read_text(encoding="utf-8").strip()
PIP = [str(PYTHON), "-m", "pip", "--quiet", "--disable-pip-version-check"]


def must(command, **options):
    done = captured([str(word) for word in command], **options)
    assert done.returncode == 0, done
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    must([ROOT / "scripts" / "release", VERSION, folder, "wheel"], env=os.environ | {"DRAFT": "1"})
    (path,) = folder.glob("*.whl")
    return path


class Environment:
    """A virtual environment, and what its commands see of this machine."""

    def __init__(self, folder, home):
        self.folder = folder
        self.home = home
        self.variables = {"PATH": "/usr/bin:/bin", "HOME": str(home), "WARPGYM_TORCH_DEVICE": "cpu"}

    @property
    def python(self):
        return self.folder / "bin" / "python3"

    @property
    def packages(self):
        (path,) = self.folder.glob("lib/python3*/site-packages")
        return path

    def files(self):
        return {path for path in self.folder.rglob("*") if not path.is_dir()}

    def run(self, *words, program="warpgym", more=None, **options):
        command = [str(self.folder / "bin" / program), *(str(word) for word in words)]
        return captured(command, cwd=self.home, env=self.variables | (more or {}), **options)

    def judge(self, *words, **options):
        done = self.run("eval", "--no-timing", "--json", "--quiet", *words, **options)
        assert done.stdout, done
        return done.returncode, json.loads(done.stdout)

    def lend_torch(self):
        find = "import site; print(*site.getsitepackages(), sep='\\n')"
        write(self.packages / "lent.pth", must([PYTHON, "-c", find]))


@pytest.fixture
def environment(wheel, tmp_path):
    """One that holds the wheel."""
    one = Environment(tmp_path / "environment", tmp_path / "home")
    one.home.mkdir()
    must([PYTHON, "-m", "venv", "--without-pip", one.folder])
    one.before = one.files()
    must([*PIP, "--python", one.python, "install", "--no-index", "--no-deps", wheel])
    return one


def test_what_is_in_it(wheel):
    tag = rf"py3-none-manylinux_2_34_{os.uname().machine}"
    assert wheel.name == f"warpgym-{VERSION}-{tag}.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(f"warpgym-{VERSION}.dist-info/METADATA").decode()
    tops = {name.split("/")[0] for name in names}
    assert tops == {"warpgym", "warpgym_kernels.py", f"warpgym-{VERSION}.dist-info"}
    assert not [name for name in names if "__pycache__" in name or name.endswith(".a")]
    for library in ("libcuda", "libcudart", "libcupti", "libtorch", "libc.so", "libgcc_s"):
        assert not [name for name in names if library in name], library
    assert {"native/licenses/libcurl4", "native/configs/laptop-cpu.yaml"} <= {
        name.removeprefix("warpgym/") for name in names
    }
    assert "Provides-Extra: verl\n" in metadata and "Requires-Dist: torch" not in metadata


def test_what_a_release_brings(wheel):
    """Every library of the wheel stands in the release's list, with a version, and every file has
    its checksum."""
    folder = wheel.parent
    must(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=folder)
    summed = (folder / "SHA256SUMS").read_text(encoding="utf-8").split()[1::2]
    bill = json.loads((folder / f"warpgym-{VERSION}.cdx.json").read_text(encoding="utf-8"))
    assert sorted([*summed, "SHA256SUMS"]) == sorted(path.name for path in folder.iterdir())
    (file,) = bill["metadata"]["component"]["components"]
    assert f"{file['hashes'][0]['content']}  {wheel.name}\n" in (folder / "SHA256SUMS").read_text()
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    licences = {name for name in names if "/native/licenses/" in name and name[-1] != "/"}
    assert licences and {name.split("/")[-1] for name in licences} == {
        one["name"] for one in bill["components"]
    }
    for one in bill["components"]:
        version = must(["dpkg-query", "-W", "-f", "${Version}", one["name"]])
        assert one["version"] == version and f"@{version}?" in one["purl"].replace("%2B", "+")


@pytest.fixture
def releasable(tmp_path):
    """A tagged commit that `make release` packs, with a wheel that takes no time."""
    tree = tmp_path / "tree"
    (tree / "scripts").mkdir(parents=True)
    for name in ("release", "source-epoch", "sbom"):
        (tree / "scripts" / name).write_bytes((ROOT / "scripts" / name).read_bytes())
        (tree / "scripts" / name).chmod(0o755)
    packer = tree / "scripts/wheel"
    write(packer, '#!/bin/sh\necho "$SOURCE_DATE_EPOCH" >"$2/warpgym.deb"\n').chmod(0o755)
    write(tree / "CHANGELOG.md", "# Changelog\n\n## [1.2.3] - 2026-01-02\n")
    for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "-m", "one"]):
        must(["git", "-c", "user.name=n", "-c", "user.email=e@x", *words], cwd=tree)
    must(["git", "tag", "v1.2.3"], cwd=tree)
    return tree


def test_a_release_is_of_a_commit(releasable):
    out = releasable.parent / "out"

    def release(version="1.2.3", package="wheel", draft=""):
        environment = {"PATH": os.environ["PATH"], "DRAFT": draft}
        words = [str(releasable / "scripts/release"), version, str(out), package]
        return captured(words, env=environment)

    refused = {
        "CHANGELOG.md has no heading '## [1.2.4] - YYYY-MM-DD'": {"version": "1.2.4"},
        "this commit has no tag v1.2.5": {"version": "1.2.5"},
        "no package 'rpm'": {"package": "rpm"},
    }
    must(["git", "tag", "v1.2.4"], cwd=releasable)
    for words, asked in refused.items():
        done = release(**asked)
        assert done.returncode != 0 and words in done.stderr, done
    write(releasable / "new.c", "")
    assert "not committed:\n?? new.c" in release().stderr
    (releasable / "new.c").unlink()
    assert release().returncode == 0
    epoch = must(["git", "log", "-1", "--format=%ct"], cwd=releasable)
    assert (out / "warpgym.deb").read_text(encoding="utf-8") == epoch
    assert "is not empty" in release().stderr
    out = releasable.parent / "draft"
    assert release("0.0.0", draft="1").returncode == 0


def test_native_problems(environment, tmp_path):
    """From another folder than the environment's, with the status of the program."""
    built = must([WARPGYM, "--version"])
    assert environment.run("--version").stdout == built
    assert environment.run("doctor").returncode == PASSED
    assert environment.judge("-p", "softmax", fast("softmax"))[0] == PASSED
    status, verdict = environment.judge("-p", "softmax", wrong("softmax"))
    assert (status, verdict["status"]) == (SOME_FAILED, "wrong")
    assert environment.run("eval", "-p", "softmax", tmp_path / "none.c").returncode == USAGE
    listed = environment.run("problem", "list").stdout
    assert listed == must([WARPGYM, "problem", "list"], cwd=environment.home)


def test_torch_problems(environment, tmp_path):
    """By the environment's own Python, unless the user names one; without PyTorch it is said."""
    problem = write(tmp_path / "square.py", kernelbench_module())
    answer = write(tmp_path / "answer.py", kernelbench_module().replace("Model", "ModelNew"))
    status, verdict = environment.judge("-p", problem, answer)
    assert (status, verdict["status"]) == (INFRASTRUCTURE, "infrastructure_error")
    assert "run `pip install torch`" in verdict["error"]["message"]
    environment.lend_torch()
    assert environment.judge("-p", problem, answer)[0] == PASSED
    named = {"WARPGYM_PYTHON": INFRASTRUCTURE, "WARPGYM_PYTHON_PATH": USAGE}
    for variable, status in named.items():
        done = environment.run("eval", "-p", problem, answer, more={variable: "/nowhere/python3"})
        assert done.returncode == status and "/nowhere/python3" in done.stdout + done.stderr, done


def test_torch_without_setuptools(environment, tmp_path):
    """PyTorch imports it for extensions, and uv's environments have none."""
    environment.lend_torch()
    refusal = 'raise ModuleNotFoundError("there is none", name="setuptools")\n'
    write(environment.packages / "setuptools.py", refusal)
    problem = write(tmp_path / "square.py", kernelbench_module())
    text = kernelbench_module().replace("Model", "ModelNew")
    answer = write(tmp_path / "answer.py", "import torch.utils.cpp_extension\n" + text)
    assert environment.judge("-p", problem, answer)[0] == PASSED


def test_in_the_folder_of_the_user(wheel, tmp_path):
    """As pip does it by itself where it may not write: program and PyTorch below ~/.local."""
    user = Environment(tmp_path / ".local", tmp_path)
    python = must([PYTHON, "-c", "import sys; print(sys._base_executable)"]).strip()
    options = ["--user", "--break-system-packages", "--no-warn-script-location"]
    install = [*PIP, "--python", python, "install", *options, "--no-index", "--no-deps", wheel]
    must(install, env=os.environ | {"HOME": str(tmp_path)})
    user.lend_torch()
    problem = write(tmp_path / "square.py", kernelbench_module())
    answer = write(tmp_path / "answer.py", kernelbench_module().replace("Model", "ModelNew"))
    assert user.judge("-p", problem, answer)[0] == PASSED
    elsewhere = {"HOME": str(tmp_path / "other"), "PYTHONUSERBASE": str(user.folder)}
    assert user.judge("-p", problem, answer, more=elsewhere)[0] == PASSED


def test_it_moves(environment, tmp_path):
    """pip's script names its Python by its path; the package finds what is its own."""
    environment.lend_torch()
    environment.folder = environment.folder.rename(tmp_path / "moved here")
    done = environment.run("-m", "warpgym", "doctor", program="python3")
    assert done.returncode == PASSED, done
    assert "moved here" in re.search(r"PyTorch\n  ok .*", done.stdout)[0], done


def test_the_program_replaces_python(environment):
    """Its process, its signals, its standard input; no signal is ignored that was not."""
    words = ["serve", "--listen", "127.0.0.1:0", "--workers", "none", "--queue", "sqlite:queue.db"]
    with subprocess.Popen(
        [environment.folder / "bin" / "warpgym", *words],
        cwd=environment.home,
        env=environment.variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert b"serving at" in process.stdout.readline()
        assert os.readlink(f"/proc/{process.pid}/exe").endswith("warpgym/native/warpgym")
        process.send_signal(signal.SIGTERM)
        assert process.wait(TIMEOUT_S) == PASSED
    mask = "import re; print(re.search('SigIgn:.*', open('/proc/self/status').read())[0])"
    program = environment.packages / "warpgym" / "native" / "warpgym"
    program.write_text(f"#!{PYTHON} -I\n{mask}\nprint(input())\n", encoding="utf-8")
    done = environment.run(input="from standard input\n")
    assert done.stdout.split("\n")[1] == "from standard input", done
    program.write_text("#!/bin/sh\ngrep SigIgn /proc/self/status; exit 77\n", encoding="utf-8")
    done = environment.run()
    plain = captured(["/bin/sh", program])
    assert (done.returncode, done.stdout) == (77, plain.stdout)


def test_the_package(environment):
    """Client and mathematics; the library of the wheel needs no second copy."""
    environment.lend_torch()
    code = (
        "import sys, warpgym.client, warpgym.convert; assert 'torch' not in sys.modules\n"
        "from warpgym import rl; print(rl.step([2, 0], [0, 0]).advantages.tolist())\n"
        "print({l.split()[-1] for l in open('/proc/self/maps') if 'libwarpgym_rl' in l})\n"
    )
    done = environment.run("-c", code, program="python3")
    library = environment.packages / "warpgym" / "native" / "build" / "libwarpgym_rl.so"
    assert done.stdout == f"[2.0, -2.0]\n{{'{library}'}}\n", done


def test_it_leaves_nothing(environment):
    assert environment.judge("-p", "softmax", fast("softmax"))[0] == PASSED
    assert environment.run("-c", "import warpgym.episodes", program="python3").returncode == PASSED
    must([*PIP, "--python", environment.python, "uninstall", "--yes", "warpgym"])
    assert environment.files() == environment.before


def test_the_client_alone_says_what_it_lacks(tmp_path):
    """As `pip install ./python` installs it, away from the checkout."""
    source = ROOT / "python" / "warpgym" / "__main__.py"
    copy = write(tmp_path / "lib" / "warpgym" / "__main__.py", source.read_bytes())
    done = captured([str(PYTHON), str(copy), "doctor"])
    assert done.returncode == 1 and "has the Python client alone" in done.stderr, done
