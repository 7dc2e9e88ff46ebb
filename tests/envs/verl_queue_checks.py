"""python/warpgym/verl_agent.py and verl_trainer.py in verl's V1: its agent loops, its queue of
samples, the step of its trainer. tests/system/test_verl_real.py runs it."""

import time

import pytest
from gym_answers import CORRECT, UNSUPPORTED, WRONG

pytest.importorskip("transfer_queue")

import numpy as np  # noqa: E402
import torch  # noqa: E402
import transfer_queue as tq  # noqa: E402
from tensordict import TensorDict  # noqa: E402
from verl.trainer.ppo.v1 import AgentLoopManagerTQ  # noqa: E402
from verl.utils import tensordict_utils  # noqa: E402
from verl_agent_checks import REWARD, cluster, model  # noqa: E402, F401
from verl_world import Client, TokenServer, agent_file, configuration  # noqa: E402
from warpgym.verl_trainer import KernelTrainer  # noqa: E402


@pytest.fixture(scope="module")
def queue(cluster, model, tmp_path_factory):  # noqa: F811
    folder = tmp_path_factory.mktemp("queue")
    config = configuration(model, agent_file(folder, "http://127.0.0.1:1"))
    config.transfer_queue.enable = True
    config.transfer_queue.backend.SimpleStorage.num_data_storage_units = 1
    tq.init(config.transfer_queue)
    yield
    tq.close()


def played(model, folder, url, script, uid, **episode):  # noqa: F811
    """One prompt, four sessions: the rows that are in the queue, and how the prompt ended."""
    file = agent_file(folder, url, turns=2, **episode)
    config = configuration(
        model, file, "actor_rollout_ref.rollout.n=4", "algorithm.adv_estimator=warpgym_trloo"
    )
    server = TokenServer.remote(model, script)
    loops = AgentLoopManagerTQ.create(config=config, llm_client=Client(config, server))
    columns = {
        "raw_prompt": [[{"role": "user", "content": "x"}]],
        "reward_model": [{"ground_truth": "softmax"}],
        "extra_info": [{}],
        "data_source": ["warpgym"],
        "index": [0],
        "uid": [uid],
    }
    arrays = {}
    for name, values in columns.items():
        arrays[name] = np.empty(1, dtype=object)
        arrays[name][:] = values
    prompt = tensordict_utils.get_tensordict(arrays)
    tensordict_utils.assign_non_tensor_data(prompt, "global_steps", 1)
    loops.generate_sequences(prompt)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        tags = tq.kv_list(partition_id="train")["train"]
        if tags.get(uid, {}).get("status") in ("finished", "failure"):
            keys = sorted(key for key in tags if key.startswith(uid + "_"))
            return config, keys, tags[uid]["status"], [tags[key] for key in keys]
        time.sleep(0.2)
    raise TimeoutError("the prompt did not end")


def test_a_group_in_the_queue(model, queue, faulty, tmp_path):  # noqa: F811
    """Turns' rewards stand at their ends; a session without a verdict is not in the group; the
    trainer's step masks and computes advantages by turns."""
    script = [WRONG] * 3 + [UNSUPPORTED] + [CORRECT] * 3 + [UNSUPPORTED]
    config, keys, status, tags = played(model, tmp_path, faulty.url, script, "u1")
    assert status == "finished"
    data = tq.kv_batch_get(
        keys=keys, partition_id="train", select_fields=["rm_scores", "response_mask"]
    )
    masks, scores = data["response_mask"].unbind(), data["rm_scores"].unbind()
    total = sum(one.sum().item() for one in scores)
    assert len(keys) in (3, 4) and total == pytest.approx(3 * REWARD)
    for mask, score in zip(masks, scores, strict=True):
        ends = torch.nonzero(score).flatten().tolist()
        assert all(mask[end] == 1 and (end + 1 == len(mask) or mask[end + 1] == 0) for end in ends)
    trainer = KernelTrainer.__new__(KernelTrainer)
    trainer.config, metrics = config, {}
    old = torch.nested.as_nested_tensor(
        [torch.full((len(one),), -0.5) for one in masks], layout=torch.jagged
    )
    tq.kv_batch_put(
        keys=keys,
        partition_id="train",
        fields=TensorDict({"old_log_probs": old}, batch_size=len(keys)),
    )
    meta = tq.KVBatchMeta(partition_id="train", keys=keys, tags=tags)
    trainer._compute_advantage(meta, metrics)
    fields = ["advantages", "returns", "response_mask"]
    made = tq.kv_batch_get(keys=keys, partition_id="train", select_fields=fields)
    for advantage, mask in zip(made["advantages"].unbind(), masks, strict=True):
        assert (advantage[mask == 0] == 0).all()
    assert metrics["warpgym/drop/excluded"] == 0


def test_a_judge_that_is_gone_fails_the_group(model, queue, faulty, tmp_path):  # noqa: F811
    faulty.leave()
    try:
        _, keys, status, _ = played(
            model, tmp_path, faulty.url, [CORRECT], "u2", retry_budget_s=0.3
        )
    finally:
        faulty.come_back()
    assert (keys, status) == ([], "failure")


def test_a_group_that_could_not_be_judged_is_empty(model, queue, faulty, tmp_path):  # noqa: F811
    _, keys, status, _ = played(model, tmp_path, faulty.url, [UNSUPPORTED], "u3")
    assert (keys, status) == ([], "finished")
