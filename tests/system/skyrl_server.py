"""SkyRL's own Tinker server (skyrl.tinker.api, JAX on the CPU), where it is installed.

    export WARPGYM_TEST_SKYRL=CHECKOUT           # of NovaSky-AI/SkyRL
    export WARPGYM_TEST_SKYRL_PYTHON=PYTHON      # with: pip install "CHECKOUT[jax,tinker]"

Nothing is installed here. The server starts its engine by `uv run … -m MODULE`, and finds out how
by its parent's command line: UV stands in for uv, and runs the same module by this Python.
"""

import contextlib
import json
import os
import pathlib
import signal
import struct
import subprocess
import tarfile
import urllib.request

import pytest
import support

CHECKOUT = os.environ.get("WARPGYM_TEST_SKYRL", "")
PYTHON = os.environ.get("WARPGYM_TEST_SKYRL_PYTHON", "")
ALPHA = 32  # SkyRL's own
START_S = 300

# pydantic refuses typing.TypedDict before Python 3.12.
UV = """#!{python}
import subprocess, sys
words = sys.argv[sys.argv.index("-m") + 1 :]
code = (
    "import runpy, sys, typing, typing_extensions;"
    "typing.TypedDict = typing_extensions.TypedDict;"
    "runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)"
)
sys.exit(subprocess.call([sys.executable, "-c", code, *words]))
"""


def need():
    if not (CHECKOUT and PYTHON):
        pytest.skip("no SkyRL: WARPGYM_TEST_SKYRL and WARPGYM_TEST_SKYRL_PYTHON name none")


class SkyRL:
    """A server of one model in a process group of its own; `folder` keeps its checkpoints."""

    def __init__(self, model, folder, **config):
        self.model, self.folder = pathlib.Path(model), pathlib.Path(folder)
        self.config = {"max_lora_adapters": 4, "max_lora_rank": 8} | config
        self.port = support.free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.checkpoints = self.folder / "checkpoints"
        self.process = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *exception):
        self.kill()

    def start(self):
        """Returns before it answers."""
        tools = self.folder / "tools"
        tools.mkdir(parents=True, exist_ok=True)
        support.write(tools / "uv", UV.format(python=PYTHON))
        (tools / "uv").chmod(0o755)
        own = {
            "PATH": f"{tools}:{os.environ['PATH']}", "PYTHONPATH": CHECKOUT,
            "JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_backend_optimization_level=0",
            "HF_HUB_OFFLINE": "1",
        }  # fmt: skip
        command = [
            tools / "uv", "run", "-m", "skyrl.tinker.api", "--base-model", self.model,
            "--backend", "jax", "--backend-config", json.dumps(self.config),
            "--checkpoints-base", self.checkpoints,
            "--database-url", f"sqlite:///{self.folder / 'db.sqlite'}",
            "--host", "127.0.0.1", "--port", str(self.port),
        ]  # fmt: skip
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(
                command, cwd=self.folder, env=os.environ | own, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip

    def wait(self):
        def answers():
            assert self.process.poll() is None, (self.folder / "log").read_text()[-3000:]
            with contextlib.suppress(OSError):
                return urllib.request.urlopen(f"{self.url}/api/v1/healthz", timeout=5)
            return None

        support.wait_until(answers, "SkyRL's server answers", START_S)
        return self

    def kill(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def sampler_archives(self):
        """Newest last."""
        found = self.checkpoints.glob("*/sampler_weights/*.tar.gz")
        return sorted(found, key=lambda path: path.stat().st_mtime_ns)


def read_tensors(data):
    """{name: (shape, floats)} of a safetensors file in float32."""
    count = struct.unpack("<Q", data[:8])[0]
    found = {}
    for name, entry in json.loads(data[8 : 8 + count]).items():
        if name != "__metadata__":
            begin, end = (8 + count + offset for offset in entry["data_offsets"])
            values = struct.unpack(f"<{(end - begin) // 4}f", data[begin:end])
            found[name] = (entry["shape"], values)
    return found


def write_tensors(tensors):
    header, parts, at = {}, [], 0
    for name, (shape, values) in tensors.items():
        parts.append(struct.pack(f"<{len(values)}f", *values))
        end = at + len(parts[-1])
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, end]}
        at = end
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + b"".join(parts)


def adapter_of(archive):
    with tarfile.open(archive) as files:
        member = next(m for m in files if m.name.endswith("adapter_model.safetensors"))
        return read_tensors(files.extractfile(member).read())
