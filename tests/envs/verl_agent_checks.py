"""python/warpgym/verl_agent.py in verl's own agent loop workers, and python/warpgym/verl_methods.py
through verl's own call of estimators.

tests/system/test_verl_real.py runs it where a Python has what verl imports.
"""

import os
import subprocess
import sys
import tempfile

import pytest
from conftest import EXAMPLES
from gym_answers import CORRECT, UNSUPPORTED, WRONG
from gym_server import GymServer

pytest.importorskip("hydra")

import numpy as np  # noqa: E402
import ray  # noqa: E402
import torch  # noqa: E402
from transformers import AutoTokenizer  # noqa: E402
from verl import DataProto  # noqa: E402
from verl.experimental.agent_loop import AgentLoopManager  # noqa: E402
from verl.trainer.ppo.ray_trainer import compute_advantage  # noqa: E402
from verl_world import Client, TokenServer, agent_file, configuration  # noqa: E402
from warpgym import rl, verl_methods  # noqa: E402

REWARD = 2.31  # of CORRECT


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Untrained."""
    folder = tmp_path_factory.mktemp("model")
    with GymServer() as server:
        made = [sys.executable, EXAMPLES / "tiny_model.py", "--epochs", "0"]
        options = ["--url", server.url, "--out", folder]
        subprocess.run([*made, *options], check=True, timeout=300)
    return str(folder)


@pytest.fixture(scope="module", autouse=True)
def cluster():
    """Its sockets lie in a folder of a short name: the system takes no path beyond 107 bytes."""
    paths = os.pathsep.join([*sys.path, os.environ.get("PYTHONPATH", "")])
    with tempfile.TemporaryDirectory(dir="/tmp", ignore_cleanup_errors=True) as folder:
        ray.init(
            num_cpus=64,
            include_dashboard=False,
            log_to_driver=True,
            runtime_env={"env_vars": {"PYTHONPATH": paths, "CUDA_VISIBLE_DEVICES": ""}},
            _temp_dir=folder,
        )
        yield
        ray.shutdown()


def samples(count, problem="softmax"):
    columns = {
        "raw_prompt": [[{"role": "user", "content": "x"}]] * count,
        "reward_model": [{"style": "rule", "ground_truth": problem}] * count,
        "extra_info": [{}] * count,
        "data_source": ["warpgym"] * count,
        "uid": ["a"] * count,
    }
    arrays = {}
    for name, values in columns.items():
        arrays[name] = np.empty(count, dtype=object)
        arrays[name][:] = values
    return DataProto(non_tensor_batch=arrays)


def manager(model, folder, url, script, *overrides, turns=2, **episode):
    file = agent_file(folder, url, turns=turns, **episode)
    config = configuration(model, file, *overrides)
    server = TokenServer.remote(model, script)
    return AgentLoopManager.create(config=config, llm_client=Client(config, server))


OURS = "algorithm.adv_estimator=warpgym_trloo"


def test_an_episode_of_two_turns(model, faulty, tmp_path):
    loops = manager(model, tmp_path, faulty.url, [WRONG, CORRECT])
    made = loops.generate_sequences(samples(1))
    tokenizer = AutoTokenizer.from_pretrained(model)
    ids, mask = made.batch["responses"][0], made.batch["response_mask"][0]
    turns = [(begin, end) for _, begin, end in verl_methods.turns_of(mask[None].numpy())]
    said = [tokenizer.decode(ids[begin:end]) for begin, end in turns]
    assert said == [WRONG + "<|im_end|>", CORRECT + "<|im_end|>"]
    between = tokenizer.decode(ids[turns[0][1] : turns[1][0]])
    assert between == "<|im_start|>user\nIt is wrong.<|im_end|>\n<|im_start|>assistant\n"
    prompt = tokenizer.decode(made.batch["prompts"][0], skip_special_tokens=False)
    assert "Write softmax." in prompt
    logprobs = made.batch["rollout_log_probs"][0]
    assert torch.equal(logprobs != 0, mask.bool())
    assert made.batch["rm_scores"][0].sum().item() == pytest.approx(REWARD)
    assert made.non_tensor_batch["acc"][0] == 1.0
    assert made.non_tensor_batch["turn_scores"][0] == pytest.approx([0.0, REWARD])
    assert made.non_tensor_batch["__num_turns__"][0] == 4
    assert made.meta_info["timing"]["agent_loop/tool_calls/max"] > 0


def test_every_sample_has_the_configuration(model, faulty, tmp_path):
    """Not only the first one that a worker plays."""
    loops = manager(model, tmp_path, faulty.url, [WRONG], turns=3, retry_budget_s=5)
    for _ in range(2):
        made = loops.generate_sequences(samples(4))
        assert made.non_tensor_batch["judged_turns"].tolist() == [3.0] * 4


def test_an_unjudged_turn_is_masked(model, faulty, tmp_path):
    loops = manager(model, tmp_path, faulty.url, [UNSUPPORTED, CORRECT])
    made = loops.generate_sequences(samples(1))
    tokenizer = AutoTokenizer.from_pretrained(model)
    turns = [*verl_methods.turns_of(made.batch["response_mask"].numpy())]
    said = [tokenizer.decode(made.batch["responses"][0][begin:end]) for _, begin, end in turns]
    assert said == [CORRECT + "<|im_end|>"]
    assert made.non_tensor_batch["excluded"][0] == 1.0
    assert made.batch["rm_scores"].sum().item() == pytest.approx(REWARD)


def test_an_unjudged_episode_before_v1(model, faulty, tmp_path):
    """Of no group with our estimators; with verl's own, which would count it as 0, an error."""
    made = manager(model, tmp_path, faulty.url, [UNSUPPORTED], OURS).generate_sequences(samples(1))
    assert made.batch["response_mask"].sum() == 0
    with pytest.raises(ray.exceptions.RayTaskError, match="no turn of an episode was judged"):
        manager(model, tmp_path, faulty.url, [UNSUPPORTED]).generate_sequences(samples(1))


def test_a_judge_that_is_gone_is_an_error(model, faulty, tmp_path):
    loops = manager(model, tmp_path, faulty.url, [CORRECT], retry_budget_s=0.3)
    faulty.leave()
    try:
        with pytest.raises(ray.exceptions.RayTaskError, match="Unreachable"):
            loops.generate_sequences(samples(1))
    finally:
        faulty.come_back()


def test_an_answer_that_is_cut_off_ends_the_episode(model, faulty, tmp_path):
    limit = "actor_rollout_ref.rollout.response_length=20"
    loops = manager(model, tmp_path, faulty.url, [CORRECT], limit, turns=4)
    made = loops.generate_sequences(samples(1))
    assert made.batch["responses"].shape == (1, 20) and made.batch["response_mask"].sum() == 20
    assert made.non_tensor_batch["judged_turns"][0] == 1.0


# --- estimators through verl's own call ----------------------------------------------------------


def batch(random, rows=24, tokens=60):
    """Rows of one to three turns; the last row was not judged."""
    mask, scores = torch.zeros(rows, tokens), torch.zeros(rows, tokens)
    turns = []
    for row in range(rows - 1):
        at = 0
        for _ in range(random.integers(1, 4)):
            begin = at + int(random.integers(0, 3)) if at else 0
            end = begin + int(random.integers(2, 12))
            mask[row, begin:end] = 1
            reward = float(random.choice([0.0, 0.3, 1.5]) + random.random() / 8)
            scores[row, end - 1] = reward
            turns.append((row, begin, end, reward))
            at = end + 1
    groups = np.array([str(row // 6) for row in range(rows)], dtype=object)
    data = DataProto.from_dict(
        tensors={"token_level_rewards": scores, "response_mask": mask},
        non_tensors={"uid": groups},
    )
    return data, turns, groups


ESTIMATORS = [(name, {}) for name in rl.names("estimator") if name not in verl_methods.WEIGHED]
ESTIMATORS += [
    (name, {"energy": kind}) for name in sorted(verl_methods.WEIGHED) for kind in ("tokens", "rows")
]


@pytest.mark.parametrize(("name", "settings"), ESTIMATORS)
@pytest.mark.parametrize("gamma", [1.0, 0.4])
def test_estimators_are_the_librarys(name, settings, gamma):
    config = {"gamma": gamma, "adv_estimator": "warpgym_" + name, "warpgym": settings}
    worst = 0.0
    for seed in range(20):
        data, turns, groups = batch(np.random.default_rng(seed))
        rows = [one[0] for one in turns]
        more = dict(settings)
        if name in ("remax", "return"):
            baselines = np.random.default_rng(seed).random(len(groups))
            data.batch["reward_baselines"] = torch.tensor(baselines)
            more["baselines"] = baselines[rows]
        made = compute_advantage(data, "warpgym_" + name, gamma=gamma, config=config)
        direct = rl.step(
            [one[3] for one in turns], [groups[row] for row in rows], rows,
            estimator=name, gamma=gamma, filter="none", aggregation="seq-sum-no-norm",
            mask=[[True] * (end - begin) for _, begin, end, _ in turns], **more,
        )  # fmt: skip
        expected = torch.zeros_like(made.batch["advantages"])
        for (row, begin, end, _), advantages in zip(turns, direct.token_advantages, strict=True):
            expected[row, begin:end] = torch.tensor(advantages)
        assert made.batch["advantages"][-1].abs().sum() == 0
        worst = max(worst, (made.batch["advantages"] - expected).abs().max().item())
    assert worst < 1e-5, worst


def test_settings_are_taken_from_the_algorithm():
    data, turns, groups = batch(np.random.default_rng(0))
    config = {"gamma": 1.0, "warpgym": {"returns": "max"}}
    made = compute_advantage(data, "warpgym_return", config=config)
    rows = [one[0] for one in turns]
    direct = rl.returns([one[3] for one in turns], rows, rule="max", gamma=1.0)
    found = [made.batch["returns"][row, begin].item() for row, begin, _, _ in turns]
    assert found == pytest.approx(list(direct))
    with pytest.raises(ValueError, match="train.returns"):
        compute_advantage(data, "warpgym_return", config={"warpgym": {"returns": "maxx"}})


def test_baselines_by_log_probabilities_say_what_they_need():
    data, *_ = batch(np.random.default_rng(0))
    with pytest.raises(ValueError, match="energy=tokens, or rows"):
        compute_advantage(data, "warpgym_optimal_baseline", config={"gamma": 1.0})


def test_verls_token_baseline_is_the_librarys():
    """Rows of one turn, of all lengths. Where only the longest of a group goes on, verl has no
    baseline, and ours is the row's own return."""
    random = torch.Generator().manual_seed(1)
    mask = (torch.arange(30) < torch.randint(2, 30, (24, 1), generator=random)).float()
    logits = torch.randn(24, 30, 11, generator=random).log_softmax(-1)
    trained, collision = logits[..., 0], logits.exp().square().sum(-1)
    last = mask.sum(-1).long() - 1
    rewards = torch.rand(24, generator=random)
    scores = torch.zeros(24, 30)
    scores[torch.arange(24), last] = rewards
    groups = np.array([str(row // 6) for row in range(24)], dtype=object)
    tensors = {"token_level_rewards": scores, "response_mask": mask, "old_log_probs": trained}
    data = DataProto.from_dict(
        tensors=tensors | {"sum_pi_squared": collision}, non_tensors={"uid": groups}
    )
    direct = rl.step(
        rewards, [*groups], trained=trained, collision=collision, mask=mask.bool(), filter="none",
        estimator="token_optimal_baseline", aggregation="seq-sum-no-norm",
    )  # fmt: skip
    for name in ("optimal_token_baseline", "tir_optimal_token_baseline"):
        made = compute_advantage(data, name, config={}).batch["advantages"]
        shared = torch.zeros(24, 30, dtype=torch.bool)
        for group in set(groups):
            rows = np.flatnonzero(groups == group)
            shared[rows] = mask[rows].sum(0) > 1
        shared &= mask.bool()
        alone = mask.bool() & ~shared
        assert shared.sum() > 200 and alone.sum() > 5
        assert torch.allclose(made[shared], direct.token_advantages[shared].float(), atol=1e-5)
        assert torch.allclose(made[alone], rewards[:, None].expand(24, 30)[alone])
        assert direct.token_advantages[alone].abs().max() < 1e-6
