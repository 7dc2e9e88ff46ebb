"""`warpgym lm serve --tinker` with Tinker's own SDK, and with the cookbook's recipes as they are.

WARPGYM_TEST_TINKER_PYTHON names a Python with them (pip install tinker==0.38.* tinker-cookbook).
"""

import json
import os
import subprocess

import fake_tinker
import pytest
import tiny_world
from fake_tinker import Probe
from skyrl_server import read_tensors
from test_tinker_real import PLAIN, change, norm_of
from test_tinker_skyrl import LOSSES, datums_of
from tinker_serving import TinkerServer

SDK = os.environ.get("WARPGYM_TEST_TINKER_PYTHON", "")
RANK, SEED = 4, 11
STEPS = 3

# A pass forward, the same with gradients, a step, and the weights after it: twice, because matrices
# B begin at 0, and with them the gradients of A.
STEP = """
import json, sys
import tinker
from tinker import types
import numpy as np
asked = json.load(sys.stdin)
def tensor(values, dtype):
    return types.TensorData.from_numpy(np.array(values, dtype=dtype))
def datum(row):
    inputs = {"target_tokens": tensor(row["targets"], np.int64)}
    for name, key in (("weights", "weights"), ("sampled", "logprobs"), ("advantages",) * 2):
        if name in row:
            inputs[key] = tensor([v or 0.0 for v in row[name]], np.float32)
    return types.Datum(model_input=types.ModelInput.from_ints(row["tokens"]), loss_fn_inputs=inputs)
service = tinker.ServiceClient()
run = service.create_lora_training_client(
    base_model=asked["model"], rank=asked["rank"], seed=asked["seed"]).result()
path = run.save_weights_for_sampler("at-0").result().path
data = [datum(row) for row in asked["datums"]]
found = [{"path": path}]
for number in (1, 2):
    forward = run.forward(data, asked["loss"], asked["config"]).result()
    passed = run.forward_backward(data, asked["loss"], asked["config"])
    step = run.optim_step(types.AdamParams(
        learning_rate=1e3, beta1=0.9, beta2=0.95, eps=1e3, grad_clip_norm=0.0))
    passed, step = passed.result(), step.result()
    found.append({
        "loss": passed.metrics["loss:sum"], "forward": forward.metrics["loss:sum"],
        "norm": step.metrics["unclipped_grad_l2:mean"],
        "path": run.save_weights_for_sampler(f"at-{number}").result().path,
        "logprobs": [p for out in passed.loss_fn_outputs for p in out["logprobs"].tolist()],
    })
json.dump(found, sys.stdout)
"""

# What else the SDK offers: frozen samplers, runs from a checkpoint, lists, downloads.
REST = """
import json, pathlib, sys
import tinker
from tinker import types
asked = json.load(sys.stdin)
service = tinker.ServiceClient()
run = service.create_lora_training_client(base_model=asked["model"], rank=4).result()
prompt = types.ModelInput.from_ints([5, 9, 13, 21])
params = types.SamplingParams(max_tokens=6, seed=3)
sampler = run.save_weights_and_get_sampling_client().result()
options = {"include_prompt_logprobs": True, "topk_prompt_logprobs": 3, "topk_sample_logprobs": 2}
one = sampler.sample(prompt, 2, params, **options).result()
scores = sampler.compute_logprobs(prompt).result()
assert scores == one.prompt_logprobs and scores[0] is None
assert len(one.topk_prompt_logprobs) == 4 and len(one.sequences[0].topk_logprobs) == 6
base = service.create_sampling_client(base_model=asked["model"]).result()
assert base.sample(prompt, 2, params).result().sequences[1].tokens == one.sequences[1].tokens
path = run.save_state("one").result().path
again = service.create_training_client_from_state_with_optimizer(path).result()
assert again.get_info().lora_rank == 4 and again.model_id != run.model_id
rest = tinker.RestClient()
external = run.save_weights_external("final").result().path
urls = rest.get_external_weights_urls(external).result().urls
assert set(urls) == {"adapter_config.json", "adapter_model.safetensors"}
kinds = [c.checkpoint_type for c in rest.list_checkpoints(run.model_id).result().checkpoints]
assert sorted(kinds) == ["external", "training"], kinds
rest.delete_checkpoint_from_tinker_path(path).result()
assert len(rest.list_checkpoints(run.model_id).result().checkpoints) == 1
try:
    run.forward_backward([types.Datum(model_input=prompt, loss_fn_inputs={})], "ppo").result()
    raise AssertionError("not refused")
except tinker.RequestFailedError as error:
    assert "'target_tokens' is missing" in str(error), error
service.close("success").result()
"""

SFT = """
import asyncio, json, sys
from tinker_cookbook.supervised import train
from tinker_cookbook.supervised.data import FromConversationFileBuilder
from tinker_cookbook.supervised.types import ChatDatasetBuilderCommonConfig
asked = json.load(sys.stdin)
common = ChatDatasetBuilderCommonConfig(
    model_name_for_tokenizer=asked["model"], renderer_name="role_colon", max_length=160,
    batch_size=8)
data = FromConversationFileBuilder(common_config=common, file_path=asked["data"], test_size=8)
asyncio.run(train.main(train.Config(
    log_path=asked["log"], model_name=asked["model"], recipe_name="sft", dataset_builder=data,
    renderer_name="role_colon", learning_rate=3e-3, lora_rank=4, save_every=2, eval_every=2,
    max_steps=asked["steps"])))
"""

RL = """
import asyncio, json, sys
from tinker_cookbook.recipes.math_rl.arithmetic_env import ArithmeticDatasetBuilder
from tinker_cookbook.rl import train
asked = json.load(sys.stdin)
data = ArithmeticDatasetBuilder(
    batch_size=4, model_name_for_tokenizer=asked["model"], renderer_name="role_colon",
    n_batches=asked["steps"], group_size=4)
asyncio.run(train.main(train.Config(
    log_path=asked["log"], model_name=asked["model"], recipe_name="rl", dataset_builder=data,
    renderer_name="role_colon", learning_rate=1e-3, lora_rank=4, max_tokens=12, eval_every=0,
    save_every=2, remove_constant_reward_groups=False)))
"""


@pytest.fixture(scope="module", autouse=True)
def _needs():
    if not SDK:
        pytest.skip("no SDK of Tinker: WARPGYM_TEST_TINKER_PYTHON names none")


def needs_cookbook():
    known = subprocess.run([SDK, "-c", "import tinker_cookbook"], capture_output=True, check=False)
    if known.returncode != 0:
        pytest.skip(f"{SDK} has no tinker_cookbook")


def run_sdk(server, code, **asked):
    variables = {
        "TINKER_BASE_URL": server.url, "TINKER_API_KEY": "tml-key", "TINKER_TELEMETRY": "0",
        "HF_HUB_OFFLINE": "1", "PYTHONWARNINGS": "ignore",
    }  # fmt: skip
    done = subprocess.run(
        [SDK, "-c", code], input=json.dumps({"model": server.model} | asked), text=True,
        env=os.environ | variables, capture_output=True, check=False, timeout=300,
        cwd=server.folder.parent,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def server(module_warpgym, tmp_path_factory):
    """A model that our engine wrote."""
    model = tmp_path_factory.mktemp("model")
    subprocess.run([fake_tinker.PROBE, "fresh", model], check=True)
    folder = tmp_path_factory.mktemp("server") / "kept"
    with TinkerServer(module_warpgym, model, folder) as one:
        yield one


def adapter_at(server, path):
    file = server.folder / path.removeprefix("tinker://") / "adapter_model.safetensors"
    return read_tensors(file.read_bytes())


def steps_of_the_engine(model, folder, given):
    """As STEP finds them, with weights in place of paths."""
    options = (f"rank={RANK}", f"seed={SEED}", f"alpha={fake_tinker.ALPHA}", "backend=cpu")
    found = []
    with Probe("engine", model, *options) as backend:
        for number in range(3):
            row = {}
            if number > 0:
                row = backend.must("pass", gradients=True, **given)
                row["norm"] = backend.must("step", **PLAIN)["norm"]
            where = backend.must("save", directory=str(folder), name=f"at-{number}")["where"]
            file = folder / where / "adapter_model.safetensors"
            found.append(row | {"weights": read_tensors(file.read_bytes())})
    return found


@pytest.mark.parametrize("loss", LOSSES)
def test_a_step_of_the_sdk_is_that_of_the_engine(server, tmp_path, loss):
    """Loss, norm of the gradient, and the gradient itself: with this epsilon a step is a multiple
    of it."""
    asked = {"loss": loss, "config": None, "rank": RANK, "seed": SEED, "datums": datums_of(loss)}
    names = {"clip_low": "clip_low_threshold", "clip_high": "clip_high_threshold"}
    asked["config"] = {names[name]: value for name, value in LOSSES[loss].items()} or None
    found = json.loads(run_sdk(server, STEP, **asked))
    given = {"datums": datums_of(loss), "loss": loss, "config": LOSSES[loss]}
    expected = steps_of_the_engine(server.model, tmp_path, given)
    for row in found:
        row["weights"] = adapter_at(server, row["path"])
    assert found[0]["weights"] == expected[0]["weights"]
    for number in (1, 2):
        theirs, ours = found[number], expected[number]
        assert theirs["loss"] == theirs["forward"] == pytest.approx(ours["loss"], rel=1e-6)
        assert theirs["norm"] == pytest.approx(ours["norm"], rel=1e-6)
        logprobs = [value for row in ours["logprobs"] for value in row]
        assert theirs["logprobs"] == pytest.approx(logprobs, abs=1e-6)
        before = [rows[number - 1]["weights"] for rows in (found, expected)]
        one, two = change(before[0], theirs["weights"]), change(before[1], ours["weights"])
        assert one.keys() == two.keys()
        for name, values in two.items():
            rest = [a - b for a, b in zip(one[name], values, strict=True)]
            assert norm_of(rest) <= 1e-3 * norm_of(values), name
            assert norm_of(values) > 0 or (number == 1 and "lora_A" in name), name


def test_the_rest_of_the_sdk(server):
    run_sdk(server, REST)


@pytest.fixture(scope="module")
def recipes(module_warpgym, tmp_path_factory):
    """A server of a model with a tokenizer that Transformers reads."""
    needs_cookbook()
    config = tiny_world.make(module_warpgym, tmp_path_factory.mktemp("world"), epochs=2)
    model = config.parent / "base" / "model"
    folder = tmp_path_factory.mktemp("recipes") / "kept"
    with TinkerServer(module_warpgym, model, folder) as one:
        yield one


def metrics_of(log):
    return [json.loads(line) for line in (log / "metrics.jsonl").read_text().splitlines()]


def test_the_cookbooks_fine_tuning(recipes, tmp_path):
    talk = tmp_path / "talk.jsonl"
    chats = [tiny_world.talk(f"What is {i} + {i}?", str(2 * i)) for i in range(40)]
    talk.write_text("".join(json.dumps(chat) + "\n" for chat in chats))
    run_sdk(recipes, SFT, data=str(talk), log=str(tmp_path / "log"), steps=4)
    losses = [row["train_mean_nll"] for row in metrics_of(tmp_path / "log")]
    assert len(losses) == 4 and losses[-1] < losses[0], losses
    kept = (tmp_path / "log" / "checkpoints.jsonl").read_text()
    assert '"final"' in kept and "tinker://" in kept


def test_the_cookbooks_reinforcement_learning(recipes, tmp_path):
    """Its own environment. The trainer's log-probabilities are the sampler's."""
    run_sdk(recipes, RL, log=str(tmp_path / "log"), steps=STEPS)
    rows = metrics_of(tmp_path / "log")
    assert len(rows) == STEPS
    assert all("env/all/reward/total" in row for row in rows)
    assert all(abs(row["optim/kl_sample_train_v1"]) < 1e-5 for row in rows)
