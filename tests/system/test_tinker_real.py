"""A backend of kind tinker against SkyRL's own server, where it is installed (skyrl_server.py), and
its passes read by Tinker's own SDK (WARPGYM_TEST_TINKER_PYTHON: a Python with it)."""

import json
import math
import os
import subprocess

import fake_tinker
import pytest
import skyrl_server
import support
import tiny_world
from fake_tinker import FakeTinker, Probe
from skyrl_server import ALPHA, SkyRL, adapter_of, read_tensors, write_tensors
from test_tinker_skyrl import LOSSES, datums_of

RANK = 4
# With this epsilon a step's change is the gradient times a constant, not its sign.
PLAIN = {"rate": 1e3, "beta1": 0.9, "beta2": 0.95, "epsilon": 1e3, "clip": 0.0}


SDK = os.environ.get("WARPGYM_TEST_TINKER_PYTHON", "")
# Fields that this SDK does not know are left over.
READ = """
import json, sys
from tinker.proto import tinker_public_pb2 as pb
import numpy as np
message = pb.ForwardBackwardRequest.FromString(sys.stdin.buffer.read())
known = pb.ForwardBackwardRequest()
known.CopyFrom(message)
known.DiscardUnknownFields()
types = {pb.DTYPE_FLOAT32: np.float32, pb.DTYPE_INT64: np.int64}
rows = [
    {"tokens": np.frombuffer(d.model_input[0].encoded_text.tokens, np.int32).tolist()}
    | {k: np.frombuffer(t.dense, types[t.dtype]).tolist() for k, t in d.loss_fn_inputs.items()}
    for d in message.data
]
print(json.dumps({
    "model": message.model_id, "number": message.seq_id, "loss": message.loss_fn,
    "forward": message.forward_only, "config": dict(message.loss_fn_config), "rows": rows,
    "unknown": message != known,
}))
"""


def test_passes_as_the_sdk_reads_them(model, tmp_path):
    if not SDK:
        pytest.skip("no SDK of Tinker: WARPGYM_TEST_TINKER_PYTHON names none")
    datums = datums_of("ppo")
    with FakeTinker(model, tmp_path) as server:
        options = (f"tokenizer={model}", f"url={server.url}", f"rank={RANK}")
        with Probe("tinker", fake_tinker.BASE, *options) as backend:
            for gradients in (False, True):
                backend.must(
                    "pass", datums=datums, gradients=gradients, loss="ppo", config=LOSSES["ppo"]
                )
    for body, forward in zip(server.bodies, (True, False), strict=True):
        run = subprocess.run([SDK, "-c", READ], input=body, check=True, capture_output=True)
        found = json.loads(run.stdout)
        assert not found["unknown"] and found["forward"] == forward
        assert found["number"] > 0 and found["model"].startswith("model_")
        assert found["config"] == {"clip_low_threshold": 0.8, "clip_high_threshold": 1.3}
        for row, datum in zip(found["rows"], datums, strict=True):
            assert row["tokens"] == datum["tokens"] and row["target_tokens"] == datum["targets"]
            assert row["logprobs"] == pytest.approx(datum["sampled"])
            assert row["advantages"] == pytest.approx(datum["advantages"])


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    directory = tmp_path_factory.mktemp("model")
    subprocess.run([fake_tinker.PROBE, "fresh", directory], check=True)
    return directory


@pytest.fixture(scope="module")
def server(module_warpgym, model, tmp_path_factory):  # ends first: no process may be left then
    """It ended with "Unsupported torch dtype: None" on a model of ours."""
    skyrl_server.need()
    with SkyRL(model, tmp_path_factory.mktemp("skyrl")) as skyrl:
        yield skyrl.wait()


def client(server, *options):
    options = (f"tokenizer={server.model}", f"url={server.url}", f"rank={RANK}", *options)
    return Probe("tinker", server.model, "context=64", *options)


def norm_of(values):
    return math.sqrt(sum(value * value for value in values))


def change(before, after):
    return {
        name: [b - a for a, b in zip(values, after[name][1], strict=True)]
        for name, (_, values) in before.items()
    }


def two_steps(backend, loss, weights):
    """Figures of each step, and all weights before and after it."""
    figures, kept = [], [weights()]
    for _ in range(2):
        options = {"datums": datums_of(loss), "loss": loss, "config": LOSSES[loss]}
        sums = backend.must("pass", gradients=True, **options)
        norm = backend.must("step", **PLAIN)["norm"]
        backend.must("refresh")
        figures.append((sums["loss"], norm, [p for row in sums["logprobs"] for p in row]))
        kept.append(weights())
    return figures, kept


def engine_with(model, folder, adapter):
    """The engine with SkyRL's fresh adapter."""
    backend = Probe("engine", model, f"rank={RANK}", f"alpha={ALPHA}", "backend=cpu").__enter__()
    where = backend.must("save", directory=str(folder), name="one")["where"]
    file = folder / where / "adapter_model.safetensors"
    assert read_tensors(file.read_bytes()).keys() == adapter.keys()
    file.write_bytes(write_tensors(adapter))
    backend.must("load", directory=str(folder), where=where, optimizer=False, steps=0)
    return backend


@pytest.mark.parametrize("loss", LOSSES)
def test_a_step_is_that_of_the_engine(server, model, tmp_path, loss):
    """Norm of the gradient, and what a step does to each matrix. SkyRL has one matrix A for q, k
    and v, and one for gate and up: it changes by the sum of what the engine's change by."""
    with client(server) as backend:
        backend.must("refresh")
        newest = lambda: adapter_of(server.sampler_archives()[-1])  # noqa: E731
        adapter = newest()
        found, theirs = two_steps(backend, loss, newest)
    count = [0]

    def weights():
        count[0] += 1
        where = backend.must("save", directory=str(tmp_path), name=f"at-{count[0]}")["where"]
        return read_tensors((tmp_path / where / "adapter_model.safetensors").read_bytes())

    backend = engine_with(model, tmp_path, adapter)
    expected, ours = two_steps(backend, loss, weights)
    backend.__exit__(None, None, None)
    assert found[0][:2] == pytest.approx(expected[0][:2], rel=1e-3)
    assert found[0][2] == pytest.approx(expected[0][2], abs=1e-4)
    assert expected[0][1] > 1e-3
    for one, two in zip(change_of(theirs), change_of(ours), strict=True):
        for name, values in two.items():
            other = [b - a for a, b in zip(values, one[name], strict=True)]
            assert norm_of(other) <= 1e-3 * norm_of(values) + 1e-6, name


def change_of(kept):
    """Of each step, the matrices A that SkyRL shares added up."""
    out = []
    for before, after in zip(kept, kept[1:], strict=False):
        steps = change(before, after)
        for first, *others in (("q_proj", "k_proj", "v_proj"), ("gate_proj", "up_proj")):
            for name in [n for n in steps if f"{first}.lora_A" in n]:
                share(before, steps, name, [name.replace(first, other) for other in others])
        out.append(steps)
    return out


def share(before, steps, name, others):
    """One change in place of several, where the matrices are one."""
    parts = [steps[one] for one in (name, *others)]
    if any(part != parts[0] for part in parts):  # the engine's are apart
        steps[name] = [sum(values) for values in zip(*parts, strict=True)]
    for other in others:
        del steps[other]


def test_a_run_and_its_export(module_warpgym, tmp_path_factory):
    """warpgym train against SkyRL's server: two steps, its adapter taken away and read again, and
    what it leaves on the server's disk."""
    skyrl_server.need()
    folder = tmp_path_factory.mktemp("run")
    config = tiny_world.make(module_warpgym, tmp_path_factory.mktemp("world"))
    model = config.parent / "base" / "model"
    with SkyRL(model, folder / "skyrl") as server:
        server.wait()
        pairs = (
            "train.problems=plus minus", "train.steps=2", "train.prompts=1", "train.samples=4",
            "train.backend=tinker", f"train.url={server.url}", f"train.model={model}",
            "train.lora_rank=4", "train.context=160", "train.max_tokens=60", "train.save_every=1",
            "train.keep=1", "policy.timeout_ms=10m",
        )  # fmt: skip
        command = tiny_world.arguments(config, folder / "run", *pairs)
        run = module_warpgym.ok(*command, timeout=900)
        assert "train.clip: this server (SkyRL's) ignores it" in run.err
        kept = {path.name for path in server.checkpoints.glob("*/*.tar.gz")}
        copies = {path.name for path in server.sampler_archives()}
        assert copies == kept == {"step-000002.tar.gz"}
        module_warpgym.ok("runs", "export", folder / "run", folder / "adapter", "-c", "last")
    module_warpgym.ok("lm", "convert", model, folder / "merged", "--merge", folder / "adapter")


@pytest.mark.time_limit(times=3)  # SkyRL compiles twice
def test_a_server_that_dies_in_a_run(module_warpgym, tmp_path_factory):
    """One sentence; then the run goes on from its checkpoint, while the server still starts."""
    skyrl_server.need()
    folder = tmp_path_factory.mktemp("died")
    config = tiny_world.make(module_warpgym, tmp_path_factory.mktemp("world"))
    model = config.parent / "base" / "model"
    with SkyRL(model, folder / "skyrl") as server:
        server.wait()
        pairs = (
            "train.problems=plus minus", "train.steps=3", "train.prompts=1", "train.samples=4",
            "train.backend=tinker", f"train.url={server.url}", f"train.model={model}",
            "train.lora_rank=4", "train.context=160", "train.max_tokens=60", "train.save_every=1",
            "policy.retry_budget_ms=2s", "train.wait_ms=1s",
        )  # fmt: skip
        command = tiny_world.arguments(config, folder / "run", *pairs)
        process = module_warpgym.start(*command)
        saved = folder / "run" / "checkpoints.jsonl"
        support.wait_until(lambda: saved.exists() and saved.read_text(), "a checkpoint", 300)
        server.kill()
        run = module_warpgym.finish(process, timeout=300)
        why, remedy = run.err.splitlines()[-2:]
        assert server.url in why and "is saved; `warpgym runs resume" in remedy, run
        server.start()
        more = ("policy.retry_budget_ms=2m",)
        module_warpgym.ok("runs", "resume", folder / "run", *more, timeout=600)
    steps = [line["step"] for line in tiny_world.metrics(folder / "run")]
    assert steps == [0, 1, 2]
