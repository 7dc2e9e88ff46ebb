"""deploy/container: the image, built by scripts/image and run as docs/guide/deploy.md says.

WARPGYM_TEST_IMAGE=1 asks for it: building takes minutes, and podman must find debian:12-slim. The
options that podman needs on the machine at hand stand in PODMAN (a wrapper) and IMAGE_OPTIONS."""

import json
import os
import shutil
import subprocess
import time

import pytest
from support import PASSED, ROOT, SOME_FAILED, TIMEOUT_S, captured, fast, wrong

PODMAN = os.environ.get("PODMAN", "podman")
VERSION = (ROOT / "VERSION").read_text(encoding="utf-8").strip()
IMAGE = f"localhost/warpgym:{VERSION}"
OPEN = ["--security-opt", "seccomp=unconfined", "--security-opt", "unmask=ALL"]
ASK = ["/bin/bash", "-c"]  # the image has no curl
ASK += [
    "exec 3<>/dev/tcp/127.0.0.1/10907; printf 'GET /health HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3"
]
pytestmark = [
    pytest.mark.skipif(
        not os.environ.get("WARPGYM_TEST_IMAGE"),
        reason="no image is built: WARPGYM_TEST_IMAGE is not set",
    ),
    pytest.mark.skipif(not shutil.which(PODMAN), reason=f"there is no {PODMAN}"),
    pytest.mark.time_limit(times=6),
]


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    folder = tmp_path_factory.mktemp("image")
    done = captured([str(ROOT / "scripts/image"), VERSION, str(folder)], timeout=3000)
    assert done.returncode == 0, done
    yield folder / f"warpgym-{VERSION}-oci.tar"


def run(*words, options=(), **more):
    return captured([PODMAN, "run", "--rm", *OPEN, *options, IMAGE, *words], **more)


def test_it_can_be_loaded(image):
    """What is published is the file, not what podman keeps."""
    assert captured([PODMAN, "rmi", "--force", IMAGE]).returncode == 0
    done = captured([PODMAN, "load", "--input", str(image)])
    assert done.returncode == 0 and IMAGE in done.stdout, done
    assert run("--version").stdout.startswith(f"warpgym {VERSION} (")


def test_the_user_of_the_image_has_the_whole_sandbox(image):
    done = run("doctor", "--json")
    found = json.loads(done.stdout)
    missing = {layer for layer, there in found["sandbox"].items() if not there}
    assert not missing and done.returncode == PASSED, (missing, done)
    shown = run(options=["--entrypoint", "/usr/bin/id"])
    assert shown.stdout.startswith("uid=10001("), shown


def test_it_judges(image, tmp_path):
    """With the compiler that the archive in it brings."""
    for name, text, status in (("fast", fast, PASSED), ("wrong", wrong, SOME_FAILED)):
        source = tmp_path / f"{name}.c"
        source.write_bytes(text("softmax").read_bytes())
        source.chmod(0o644)
        mounted = ["--volume", f"{source}:/candidate.c:ro"]
        words = ["eval", "--json", "--quiet", "--no-timing", "-p", "softmax", "/candidate.c"]
        done = run(*words, options=mounted)
        assert done.returncode == status, done
        assert (json.loads(done.stdout)["status"] == "passed") == (name == "fast")


def test_it_serves_until_it_is_stopped(image):
    name = f"warpgym-test-{os.getpid()}"
    with subprocess.Popen(
        [PODMAN, "run", "--rm", "--name", name, *OPEN, IMAGE],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as server:
        try:
            end = time.monotonic() + TIMEOUT_S
            while "200 OK" not in (done := captured([PODMAN, "exec", name, *ASK])).stdout:
                assert time.monotonic() < end and server.poll() is None, done
                time.sleep(0.5)
            assert captured([PODMAN, "stop", "--time", "60", name]).returncode == 0
            assert server.wait(TIMEOUT_S) == 0, server.stderr.read()
        finally:
            captured([PODMAN, "rm", "--force", "--ignore", name])
