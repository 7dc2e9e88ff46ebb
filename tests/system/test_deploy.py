"""deploy/: what can be said of it without a cluster, and what a container must allow."""

import json
import os
import re
import shutil
import subprocess
import tarfile

import pytest
from deploy_support import DEPLOY, FILTERED, LIMITED, as_user, refuses, strings, yaml_documents
from support import (
    CHECKOUT,
    KERNELGYM,
    PASSED,
    PYTHON,
    ROOT,
    SOME_FAILED,
    USAGE,
    WARPGYM,
    captured,
    fast,
    kernelbench_module,
    write,
)

UNITS = sorted(DEPLOY.glob("systemd/*.service"))
MANIFESTS = sorted(DEPLOY.glob("kubernetes/*.yaml"))
NAMESPACES = {
    *("user namespace", "process namespace", "mount namespace", "own /proc"),
    *("network namespace", "IPC namespace", "UTS namespace", "unprivileged identity"),
}


def commands(text):
    """The warpgym commands that a file runs, without their values."""
    return re.findall(r"warpgym\"? (serve|worker)((?: --[a-z-]+(?: [^ \n-][^ \n]*)?)*)", text)


def test_there_is_something_to_test():
    assert len(UNITS) == 2 and len(MANIFESTS) == 4


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="there is no systemd-analyze")
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_units(unit, tmp_path):
    copy = tmp_path / unit.name
    text = unit.read_text(encoding="utf-8")
    copy.write_text(text.replace("/opt/warpgym/warpgym", "/bin/true"), encoding="utf-8")
    run = captured(["systemd-analyze", "verify", "--man=no", str(copy)])
    assert (run.returncode, run.stdout + run.stderr) == (0, "")


def test_the_worker_may_make_namespaces():
    text = next(unit for unit in UNITS if "worker" in unit.name).read_text(encoding="utf-8")
    forbidden = (
        *("RestrictNamespaces", "SystemCallFilter", "ProtectKernelTunables", "ProtectKernelLogs"),
        *("ProtectProc", "ProcSubset", "MemoryDenyWriteExecute", "PrivateDevices", "PrivateUsers"),
    )
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert not [line for line in lines if line.partition("=")[0] in forbidden]


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda manifest: manifest.name)
def test_manifests_are_objects(manifest):
    for one in yaml_documents(manifest):
        assert {"apiVersion", "kind"} <= one.keys()
        assert one["kind"] == "Kustomization" or one["metadata"]["name"].startswith("warpgym")


def objects():
    found = [one for manifest in MANIFESTS for one in yaml_documents(manifest)]
    return {(one["kind"], one.get("metadata", {}).get("name")): one for one in found}


def test_manifests_fit_together():
    every = objects()
    redis = every["ConfigMap", "warpgym-redis"]["data"]["redis.conf"]
    assert "appendonly yes" in redis and "appendfsync always" in redis and "noeviction" in redis
    for (kind, name), one in every.items():
        if kind == "Service":
            owners = [
                other["spec"]["template"]["metadata"]["labels"]
                for (theirs, _), other in every.items()
                if theirs in ("Deployment", "StatefulSet", "DaemonSet")
            ]
            assert one["spec"]["selector"] in owners, name
    listed = every["Kustomization", None]["resources"]
    assert sorted(listed) == sorted(m.name for m in MANIFESTS if m.stem != "kustomization")
    assert "warpgym-redis" in strings(every["DaemonSet", "warpgym-worker"])


def test_environment_of_manifests_is_known(warpgym):
    """Every variable is one that counts: warpgym refuses what is nearly one."""
    for one in objects().values():
        spec = one.get("spec", {}).get("template", {}).get("spec", {})
        for container in spec.get("containers", []):
            names = {variable["name"] for variable in container.get("env", [])}
            assert all(name in KERNELGYM or name.startswith("WARPGYM_") for name in names)
            warpgym.ok("config", "show", environment=dict.fromkeys(names, "one"))


def test_options_are_those_of_the_commands(warpgym):
    files = [path for path in DEPLOY.rglob("*") if path.is_file()]
    files.append(ROOT / "docs" / "guide" / "deploy.md")
    seen = set()
    for path in files:
        for command, options in commands(path.read_text(encoding="utf-8")):
            seen.add(command)
            run = warpgym(command, "--help")
            assert run.status == PASSED, f"{path} runs a command that there is not: {run}"
            for option in re.findall(r"--[a-z-]+", options):
                assert f"{option} " in run.out, f"{path}: {command} has no {option}"
    assert seen == {"serve", "worker"}


def test_scripts_are_shell():
    for path in DEPLOY.glob("slurm/*"):
        run = captured(["bash", "-n", str(path)])
        assert (run.returncode, run.stderr) == (0, "")


def test_the_image_is_built_from_existing_files():
    text = (DEPLOY / "container" / "Containerfile").read_text(encoding="utf-8")
    for source in re.findall(r"^COPY ([^ -][^ ]*) ", text, re.MULTILINE):
        assert (ROOT / source).exists(), source
    wanted = re.search(r"^packages=\((.*?)^\)", (ROOT / "setup.sh").read_text(), re.M | re.S)[1]
    headers = {name for name in wanted.split() if name.endswith("-dev") and "cmocka" not in name}
    assert headers <= set(text.split()), headers - set(text.split())
    stages = re.findall(r"^FROM (\S+)(?: AS (\w+))?", text, re.MULTILINE)
    known = {name for _, name in stages}
    assert all("debian:12" in base or base in known for base, _ in stages)
    assert re.search(r"^USER 10001:10001$", text, re.MULTILINE)


# what a container must allow


def missing(warpgym, wrapper):
    run = warpgym("doctor", "--json", wrapper=wrapper)
    assert run.out, run
    found = {name for name, held in json.loads(run.out)["sandbox"].items() if not held}
    assert run.status == (SOME_FAILED if found else PASSED), run
    return found


def open_to_all(warpgym):
    """The user of the container owns what warpgym writes."""
    if os.geteuid() == 0:
        for folder in [warpgym.folder, *warpgym.folder.rglob("*")]:
            os.chown(folder, 10001, 10001)
        for parent in warpgym.folder.parents:
            if parent.stat().st_uid == 0 and parent.name.startswith(("pytest-", "popen-")):
                parent.chmod(0o755)
    warpgym.environment["XDG_CACHE_HOME"] = str(warpgym.folder / "cache")
    warpgym.environment["XDG_STATE_HOME"] = str(warpgym.folder / "state")
    warpgym.environment["WARPGYM_PYTHON_PATH"] = "/bin/false"
    if why := refuses(*as_user(), "test", "-x", str(WARPGYM)):
        pytest.skip(f"another user cannot run {WARPGYM}: {why}")


def test_allowed_everything(warpgym):
    open_to_all(warpgym)
    if why := refuses(*as_user(), "unshare", "-Urmpf", "--mount-proc", "true"):
        pytest.skip(why)
    assert missing(warpgym, as_user()) == set()


def test_masked_paths(warpgym):
    """The engine has mounted something over parts of /proc."""
    open_to_all(warpgym)
    scene = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-c", "--keep-caps", "-m"]
    mask = 'mount --bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys && exec "$@"'
    wrapper = [*scene, "sh", "-c", mask, "sh", *as_user()]
    if why := refuses(*wrapper, "unshare", "-Urm", "true"):
        pytest.skip(why)
    assert missing(warpgym, wrapper) == {"own /proc"}


def test_standard_filter(warpgym):
    open_to_all(warpgym)
    assert missing(warpgym, [*as_user(), *FILTERED]) == NAMESPACES
    run = warpgym.eval("--problem", "relu", fast("relu"), wrapper=[*as_user(), *FILTERED])
    assert run.verdict["status"] == "passed", run.verdict["error"]
    sandbox = run.verdict["environment"]["sandbox"]
    assert set(sandbox["missing"]) == NAMESPACES
    assert {"Landlock", "seccomp filter"} <= set(sandbox["layers"])


def test_limits_that_cannot_be_set(warpgym):
    """A kernel that knows fewer limits, as gVisor does: the layer is missing, and each is named."""
    named = ["message queues", "locked memory"]
    found = json.loads(warpgym("doctor", "--json", wrapper=LIMITED).out)
    assert [name for name, held in found["sandbox"].items() if not held] == ["resource limits"]
    assert found["limits_missing"] == named
    run = warpgym("doctor", wrapper=LIMITED)
    assert run.status == SOME_FAILED
    assert "1 of 13 protections are missing. Candidates are not kept from: memory, file" in run.out
    (line,) = [line for line in run.out.splitlines() if "resource limits" in line]
    assert line.startswith("  --  ") and line.endswith("; cannot be set: " + ", ".join(named))
    verdict = warpgym.eval("-p", "relu", fast("relu"), wrapper=LIMITED).verdict
    assert verdict["status"] == "passed", verdict["error"]
    missing = ["resource limits", *(f"resource limit: {name}" for name in named)]
    assert verdict["environment"]["sandbox"]["missing"] == missing


CONTAINER_ROOT = "chown dac_override fowner fsetid kill setgid setuid setpcap setfcap mknod"


@pytest.mark.parametrize("capabilities", [CONTAINER_ROOT, CONTAINER_ROOT.replace("setfcap ", "")])
def test_root_of_a_container(warpgym, capabilities):
    """It may not mount, and still switches to an unprivileged user."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    kept = "".join(f",+{name}" for name in capabilities.split())
    wrapper = ["setpriv", f"--bounding-set=-all{kept}", f"--inh-caps=-all{kept}"]
    if why := refuses(*wrapper, "unshare", "-U", "true"):
        pytest.skip(why)
    warpgym.environment["WARPGYM_PYTHON_PATH"] = "/bin/false"
    others = NAMESPACES - {"user namespace", "unprivileged identity"}
    assert missing(warpgym, wrapper) == (set() if "setfcap" in capabilities else others)


@pytest.mark.parametrize("kept", ["", ",+chown,+setgid,+setuid"])
def test_root_without_a_right(warpgym, kept):
    """No sandbox as the owner of every file, and none that the judge could not end."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    warpgym.environment["WARPGYM_PYTHON_PATH"] = "/bin/false"
    wrapper = ["setpriv", f"--bounding-set=-all{kept}", f"--inh-caps=-all{kept}"]
    run = warpgym("doctor", wrapper=wrapper)
    assert "cannot give up root" in run.out, run


# the archive


def test_archive_runs_in_an_empty_environment(tmp_path):
    """In a root with nothing but the archive and glibc, where there is an archive of this build."""
    archives = list((CHECKOUT / "dist").glob("warpgym-*.tar.gz"))
    if not archives:
        pytest.skip("no dist/: `make dist` has not been run")
    if why := refuses("unshare", "-rm", "true"):
        pytest.skip(why)
    with tarfile.open(archives[0]) as archive:
        archive.extractall(tmp_path, filter="data")
    loader = "lib64/ld-linux-x86-64.so.2"
    glibc = [f"lib{name}.so.{n}" for name, n in (("c", 6), ("m", 6), ("mvec", 1), ("pthread", 0))]
    glibc += [f"lib{name}.so.2" for name in ("dl", "resolv")] + ["librt.so.1", "libanl.so.1"]
    for path in [loader, *(f"lib/x86_64-linux-gnu/{name}" for name in glibc)]:
        if os.path.exists(f"/{path}"):
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(f"/{path}", tmp_path / path)
    for folder in ("proc", "tmp", "dev", "sys"):
        (tmp_path / folder).mkdir(exist_ok=True)
    enter = 'mount --rbind /proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$@"'
    inside = ["unshare", "-rm", "sh", "-c", enter, str(tmp_path), str(tmp_path)]
    environment = {"PATH": os.environ["PATH"], "HOME": "/tmp"}

    def run(*words):
        return captured([*inside, "/warpgym/warpgym", *words], env=environment)

    version = run("--version")
    assert version.returncode == 0, version
    assert version.stdout.startswith(f"warpgym {read_version()} ("), version
    assert run("config", "show").returncode == PASSED
    assert run("config", "check", "/none").returncode == USAGE
    doctor = run("doctor", "--json")
    assert json.loads(doctor.stdout)["cc"], doctor


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    """The binaries and what they read, where there is no .venv."""
    folder = tmp_path_factory.mktemp("elsewhere")
    built = CHECKOUT / "build"
    (folder / "build").mkdir()
    for path in (built / "warpgym-child", *built.glob("libwarpgym_*.so")):
        shutil.copy(path, folder / "build")
    shutil.copy(WARPGYM, folder)
    for part in ("python", "problems", "prompts"):
        shutil.copytree(ROOT / part, folder / part)
    return folder


@pytest.mark.skipif(not PYTHON.exists(), reason="no Python with PyTorch: `make setup` makes one")
@pytest.mark.parametrize("active", [True, False])
def test_python_of_the_path(elsewhere, tmp_path, active):
    """That of an active environment is found, as long as it has PyTorch."""
    path = f"{PYTHON.parent}:/usr/bin:/bin" if active else "/usr/bin:/bin"
    environment = {"PATH": path, "HOME": str(tmp_path), "WARPGYM_TORCH_DEVICE": "cpu"}
    problem = write(tmp_path / "square.py", kernelbench_module())
    answer = write(tmp_path / "answer.py", kernelbench_module().replace("Model", "ModelNew"))
    command = ["./warpgym", "eval", "--no-timing", "--json", "--quiet", "-p", problem, answer]
    done = subprocess.run(
        command, cwd=elsewhere, env=environment, capture_output=True, timeout=300, check=False
    )
    verdict = json.loads(done.stdout)
    assert verdict["status"] == ("passed" if active else "infrastructure_error"), done
    assert active or "need a Python with PyTorch" in verdict["error"]["message"], verdict


def read_version():
    return (ROOT / "VERSION").read_text(encoding="utf-8").strip()
