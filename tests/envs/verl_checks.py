"""python/warpgym/verl.py as verl's reward managers call it; no model, no Ray cluster."""

import asyncio
from pathlib import Path

import pytest
from gym_answers import CORRECT, KEVIN, NO_CODE, SPEEDUP, STANDARD, UNSUPPORTED, WRONG

pytest.importorskip("verl")

import numpy as np  # noqa: E402
import torch  # noqa: E402
from omegaconf import OmegaConf  # noqa: E402
from verl import DataProto  # noqa: E402
from verl.trainer.ppo.reward import get_custom_reward_fn, load_reward_manager  # noqa: E402
from verl.workers.reward_manager import get_reward_manager_cls  # noqa: E402

PROMPT_TOKENS = 4


class Tokenizer:
    """A token is a byte."""

    def decode(self, tokens, skip_special_tokens=True):
        return bytes(int(token) for token in tokens).decode()


def config(url, name, **more):
    """As verl's YAML has it; examples/verl shows more."""
    function = {"path": "pkg://warpgym.verl", "name": name}
    function["reward_kwargs"] = {"url": url, "language": "c"} | more
    manager = {"source": "register", "name": "naive"}
    made = {"custom_reward_function": function, "reward_manager": manager}
    return OmegaConf.create({"reward": made})


def example_config(url):
    """examples/verl/reward.yaml, for this server."""
    example = OmegaConf.load(Path(__file__).parents[2] / "examples" / "verl" / "reward.yaml")
    kwargs = {"url": url, "language": "c", "reward": "kevin"}
    ours = {"reward": {"custom_reward_function": {"reward_kwargs": kwargs}}}
    return OmegaConf.merge(example, ours)


def batch(answers, ground_truth="softmax"):
    size = max(len(answer.encode()) for answer in answers)
    responses = torch.zeros(len(answers), size, dtype=torch.long)
    mask = torch.zeros(len(answers), PROMPT_TOKENS + size, dtype=torch.long)
    for i, answer in enumerate(answers):
        tokens = torch.tensor(list(answer.encode()))
        responses[i, : len(tokens)] = tokens
        mask[i, : PROMPT_TOKENS + len(tokens)] = 1
    columns = {
        "data_source": ["warpgym"] * len(answers),
        "reward_model": [{"style": "rule", "ground_truth": ground_truth}] * len(answers),
        "extra_info": [{"entry_point": "Model", "uuid": str(i)} for i in range(len(answers))],
    }
    return DataProto.from_dict(
        tensors={
            "prompts": torch.ones(len(answers), PROMPT_TOKENS, dtype=torch.long),
            "responses": responses,
            "attention_mask": mask,
        },
        non_tensors={key: np.array(value, dtype=object) for key, value in columns.items()},
    )


ANSWERS = [CORRECT, WRONG, NO_CODE]


@pytest.mark.parametrize("name", ["compute_score", "compute_score_async", "example"])
def test_the_reward_loop(name, url):
    made = example_config(url) if name == "example" else config(url, name)
    manager = load_reward_manager(made, Tokenizer())
    assert manager.is_async_reward_score == (name != "compute_score")
    data = batch(ANSWERS)

    async def all_of_them():
        singles = (manager.run_single(data[i : i + 1]) for i in range(len(data)))
        return await asyncio.gather(*singles)

    results = manager.loop.run_until_complete(all_of_them())
    best = KEVIN if name == "example" else STANDARD
    assert [one["reward_score"] for one in results] == pytest.approx([best, 0.0, 0.0])
    infos = [one["reward_extra_info"] for one in results]
    assert [info["status"] for info in infos] == ["passed", "wrong", "no_code"]
    assert [info["speedup"] for info in infos] == pytest.approx([SPEEDUP, 0.0, 0.0])
    assert len({tuple(info) for info in infos}) == 1  # the same keys, so that they can be stacked


@pytest.mark.parametrize("manager", ["batch", "naive"])
def test_managers_of_a_whole_batch(manager, url):
    name = {"batch": "compute_scores", "naive": "compute_score"}[manager]
    function = get_custom_reward_fn(config(url, name))
    score = get_reward_manager_cls(manager)(Tokenizer(), 0, function)
    result = score(batch(ANSWERS), return_dict=True)
    rewards = result["reward_tensor"]
    assert rewards.sum(dim=1).tolist() == pytest.approx([STANDARD, 0.0, 0.0])
    assert rewards[0, len(CORRECT.encode()) - 1] == pytest.approx(STANDARD)
    assert result["reward_extra_info"]["correct"] == [1.0, 0.0, 0.0]


def test_an_unjudged_answer_ends_the_run_or_is_marked(faulty):
    data = batch([UNSUPPORTED])
    manager = load_reward_manager(config(faulty.url, "compute_score_async"), Tokenizer())
    with pytest.raises(Exception, match="no reward: its verdict is unsupported"):
        manager.loop.run_until_complete(manager.run_single(data))
    marked = config(faulty.url, "compute_score_async", error_score=-1.0)
    manager = load_reward_manager(marked, Tokenizer())
    result = manager.loop.run_until_complete(manager.run_single(data))
    assert result["reward_score"] == -1.0 and result["reward_extra_info"]["excluded"] == 1.0
