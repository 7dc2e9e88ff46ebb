"""python/warpgym/trl.py in TRL's own trainers, with a model that examples/tiny_model.py makes.

tests/system/test_trl_real.py runs it where a Python has TRL.
"""

import math
import subprocess
import sys

import pytest
from conftest import EXAMPLES
from gym_answers import CORRECT, UNSUPPORTED, WRONG
from gym_server import GymServer

pytest.importorskip("trl")

from datasets import Dataset  # noqa: E402
from trl import GRPOConfig, GRPOTrainer, RLOOConfig, RLOOTrainer  # noqa: E402
from warpgym.client import Unreachable  # noqa: E402
from warpgym.episodes import Unjudged  # noqa: E402
from warpgym.trl import environment, kernel_reward, return_reward, rows  # noqa: E402

TRAINERS = {"grpo": (GRPOTrainer, GRPOConfig), "rloo": (RLOOTrainer, RLOOConfig)}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """By whether it calls submit: untrained, so that it writes what chance has it write."""
    folder = tmp_path_factory.mktemp("models")
    with GymServer() as server:
        for name, more in {"plain": [], "submit": ["--submit"]}.items():
            made = [sys.executable, EXAMPLES / "tiny_model.py", "--epochs", "0"]
            options = ["--url", server.url, "--out", folder / name, *more]
            subprocess.run([*made, *options], check=True, timeout=300)
    return folder


def trained(kind, model, out, data, steps=2, **more):
    trainer_of, config_of = TRAINERS[kind]
    config = config_of(
        output_dir=str(out),
        max_steps=steps,
        per_device_train_batch_size=4,
        num_generations=2,
        max_completion_length=32,
        learning_rate=1e-3,
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        use_cpu=True,
        disable_tqdm=True,
    )
    trainer = trainer_of(str(model), args=config, train_dataset=Dataset.from_list(data), **more)
    trainer.train()
    return trainer



def write(trainer, answers):
    """Has the trainer's model write these, in turn."""
    made = trainer.processing_class
    ids = [[*made(one)["input_ids"], made.eos_token_id] for one in answers]
    count = iter(range(1 << 30))

    def generate(prompt_ids, *rest, **more):
        chosen = [list(ids[next(count) % len(ids)]) for _ in prompt_ids]
        return chosen if isinstance(trainer, RLOOTrainer) else (chosen, None)

    trainer._generate_single_turn = generate


@pytest.mark.parametrize("kind", TRAINERS)
@pytest.mark.parametrize("blocking", [False, True])
def test_a_random_models_answers_are_judged(kind, blocking, models, faulty, tmp_path):
    """Bytes of every kind; TRL's first run with a judge that refused them ended by one."""
    function = kernel_reward(faulty.url, blocking=blocking)
    data = [*rows(faulty.url, ["softmax", "relu"])]
    trainer = trained(kind, models / "plain", tmp_path, data, reward_funcs=function)
    steps = trainer.state.log_history[:-1]
    assert [step["rewards/kernel_reward/mean"] for step in steps] == [0.0, 0.0]
    assert [step["kernel/excluded"] for step in steps] == [0.0, 0.0]


@pytest.mark.parametrize("kind", TRAINERS)
def test_an_unjudged_answer_is_left_out_of_its_group(kind, models, faulty, tmp_path):
    """Two groups of two; the reward that is None gets no advantage, and its group no baseline."""
    trainer_of, config_of = TRAINERS[kind]
    config = config_of(
        output_dir=str(tmp_path),
        max_steps=1,
        per_device_train_batch_size=8,
        num_generations=4,
        max_completion_length=256,
        learning_rate=1e-3,
        save_strategy="no",
        report_to="none",
        use_cpu=True,
        disable_tqdm=True,
        logging_steps=1,
    )
    data = Dataset.from_list([*rows(faulty.url, ["softmax", "relu"])])
    function = kernel_reward(faulty.url)
    trainer = trainer_of(
        str(models / "plain"), args=config, train_dataset=data, reward_funcs=function
    )
    answers = [CORRECT, WRONG, UNSUPPORTED, WRONG]
    write(trainer, answers)
    trainer.train()
    advantages = list(trainer._logs["advantages"])[:4]
    rewards = list(trainer._logs["rewards"]["kernel_reward"])[:4]
    assert math.isnan(rewards[2]) and advantages[2] == 0.0
    assert rewards[0] == pytest.approx(2.31) and advantages[0] > 0
    # Of the three that were judged alone.
    assert sum(advantages) == pytest.approx(0.0, abs=1e-5)
    assert trainer.state.log_history[0]["kernel/excluded"] == 0.25
    assert trainer.state.log_history[0]["reward"] == pytest.approx(2.31 / 3)


def test_an_environment_of_two_turns(models, faulty, tmp_path):
    """The model's calls are executed, the judge's feedback is not trained on, rewards arrive."""
    factory = environment(faulty.url, turns=2)
    data = [{"prompt": [{"role": "user", "content": ""}], "problem": "softmax"}] * 4
    config = GRPOConfig(
        output_dir=str(tmp_path),
        max_steps=1,
        per_device_train_batch_size=4,
        num_generations=4,
        max_completion_length=2048,
        save_strategy="no",
        report_to="none",
        use_cpu=True,
        disable_tqdm=True,
        logging_steps=1,
    )
    trainer = GRPOTrainer(
        str(models / "submit"),
        args=config,
        train_dataset=Dataset.from_list(data),
        reward_funcs=return_reward,
        environment_factory=factory,
    )
    call = '<tool_call>\n{"name": "submit", "arguments": {"answer": %s}}\n</tool_call>'
    right, wrong, broken = (
        call % one.replace("\n", "\\n").join('""') for one in (CORRECT, WRONG, UNSUPPORTED)
    )
    first = [right, wrong, broken, "I say nothing."]
    second = [wrong, right, broken, "Done.", "Done.", "Done."]
    write(trainer, [*first, *second])
    masks = []
    score = trainer._calculate_rewards

    def scored(inputs, prompts, completions, ids):
        masks.append((completions, ids))
        return score(inputs, prompts, completions, ids)

    trainer._calculate_rewards = scored
    trainer.train()
    completions, _ = masks[0]
    roles = [[one["role"] for one in completion] for completion in completions]
    assert roles[0] == ["assistant", "tool", "assistant", "tool", "assistant"]
    assert roles[3] == ["assistant"]
    assert "It is wrong." in completions[1][1]["content"]
    rewards = list(trainer._logs["rewards"]["return_reward"])
    assert rewards[:2] == pytest.approx([2.31, 0.4 * 2.31])
    assert math.isnan(rewards[2]) and rewards[3] == 0.0
    step = trainer.state.log_history[0]
    assert step["tools/failure_frequency"] == 0 and step["tools/call_frequency"] == 1.5
    assert step["kernel/excluded"] == 0.25


@pytest.mark.parametrize("turns", [1, 2])
def test_a_judge_that_is_gone_ends_the_run_by_a_sentence(turns, models, faulty, tmp_path):
    data = [*rows(faulty.url, ["softmax"])] * 2
    options = {"retry_budget_s": 0.3}
    if turns == 1:
        more = {"reward_funcs": kernel_reward(faulty.url, **options)}
    else:
        factory = environment(faulty.url, turns=2, **options)
        more = {"reward_funcs": return_reward, "environment_factory": factory}
    name = "plain" if turns == 1 else "submit"
    faulty.leave()
    try:
        with pytest.raises(Unreachable, match=faulty.url):
            trained("grpo", models / name, tmp_path, data, **more)
    finally:
        faulty.come_back()


def test_a_judge_that_judges_nothing_ends_the_run(models, tmp_path):
    unsupported = {"status": "unsupported", "compiled": False, "correct": False}
    with GymServer(judge=lambda request: unsupported) as server:
        config = GRPOConfig(
            output_dir=str(tmp_path), max_steps=1, per_device_train_batch_size=2,
            num_generations=2, max_completion_length=64, report_to="none", use_cpu=True,
        )  # fmt: skip
        trainer = GRPOTrainer(
            str(models / "plain"),
            args=config,
            train_dataset=Dataset.from_list([*rows(server.url, ["softmax"])]),
            reward_funcs=kernel_reward(server.url),
        )
        write(trainer, [CORRECT])
        with pytest.raises(Unjudged):
            trainer.train()
