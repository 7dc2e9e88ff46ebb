"""python/warpgym/skyrl_generator.py: SkyRL's own generator, with an inference engine that a test
wrote."""

import asyncio

import chat_tokenizer
import pytest
from chat_tokenizer import END
from gym_answers import CORRECT, KEVIN, UNSUPPORTED, WRONG

pytest.importorskip("skyrl_gym")
pytest.importorskip("skyrl.train.generators.skyrl_gym_generator", exc_type=ImportError)

from skyrl.train.config import GeneratorConfig, SkyRLGymConfig  # noqa: E402
from skyrl.train.generators.base import TrajectoryID  # noqa: E402
from skyrl.train.generators.skyrl_gym_generator import SkyRLGymGenerator  # noqa: E402
from transformers import AutoTokenizer  # noqa: E402
from warpgym.episodes import Unjudged  # noqa: E402
from warpgym.skyrl_generator import KernelGenerator  # noqa: E402


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    return AutoTokenizer.from_pretrained(chat_tokenizer.make(tmp_path_factory.mktemp("model")))


class Engine:
    """Says what `plan` says to what it reads, and to which episode it says it."""

    model_name = "tiny"

    def __init__(self, tokenizer, plan):
        self.tokenizer, self.plan, self.read = tokenizer, plan, []

    async def generate(self, given, model=None):
        (ids,), (session,) = given["prompt_token_ids"], given["session_ids"]
        text = self.tokenizer.decode(ids)
        self.read.append((session, text))
        said = self.plan(session, text)
        tokens = self.tokenizer.encode(said + END, add_special_tokens=False)
        return {
            "responses": [said],
            "response_ids": [tokens],
            "stop_reasons": ["stop"],
            "response_logprobs": [[-0.5] * len(tokens)],
        }

    async def finish_session(self, session):
        pass


def configuration(**options):
    config = GeneratorConfig()
    config.max_turns, config.batched, config.max_input_length = 2, False, 100000
    config.sampling_params.max_generate_length = 100000
    config.sampling_params.logprobs = 0
    for name, value in options.items():
        setattr(config, name, value)
    return config


def play(
    url, tokenizer, plan, *, kind=KernelGenerator, problems=("softmax",), samples=2, **options
):
    """SkyRL's output for so many episodes of each problem."""
    environment = SkyRLGymConfig(max_env_workers=4)
    environment.warpgym = {"url": url, "language": "c", "retry_budget_s": 0.5}
    engine = Engine(tokenizer, plan)
    generator = kind(configuration(**options), environment, engine, tokenizer, "tiny")
    rows = [one for one in problems for _ in range(samples)]
    batch = {
        "prompts": [[{"role": "user", "content": one}] for one in rows],
        "env_classes": ["warpgym"] * len(rows),
        "env_extras": [{"reward_spec": {"ground_truth": one}} for one in rows],
        "sampling_params": None,
        "trajectory_ids": [TrajectoryID(one, i) for one in problems for i in range(samples)],
    }
    return asyncio.run(generator.generate(batch, disable_tqdm=True)), engine


def wrong_then_correct(session, text):
    return CORRECT if "It is wrong" in text else WRONG


@pytest.mark.parametrize("kind", [KernelGenerator, SkyRLGymGenerator])
def test_two_turns(kind, faulty, tokenizer):
    made, engine = play(faulty.url, tokenizer, wrong_then_correct, kind=kind)
    assert len(engine.read) == 4
    for row in range(2):
        rewards, mask = made["rewards"][row], made["loss_masks"][row]
        assert sum(rewards) == rewards[-1] == pytest.approx(0.4 * KEVIN)
        ids = made["response_ids"][row]
        trained = [one for one, kept in zip(ids, mask, strict=True) if kept]
        assert tokenizer.decode(trained) == WRONG + END + CORRECT + END
        assert "It is wrong." in tokenizer.decode(ids)
    assert made["rollout_metrics"]["environment/correct"] == 1.0


def test_step_by_step(faulty, tokenizer):
    """SkyRL's way for models that drop their thinking: a row a turn."""
    options = {"step_wise_trajectories": True}
    made, _ = play(faulty.url, tokenizer, wrong_then_correct, **options)
    assert [sum(one) for one in made["rewards"]] == pytest.approx([0, 0.4 * KEVIN] * 2)
    assert made["is_last_step"] == [False, True] * 2


def test_an_unjudged_answer_is_played_again(faulty, tokenizer):
    asked = []

    def plan(session, text):
        asked.append(session)
        return UNSUPPORTED if len(asked) == 1 else CORRECT

    made, _ = play(faulty.url, tokenizer, plan, max_turns=1)
    assert [sum(one) for one in made["rewards"]] == pytest.approx([KEVIN] * 2)
    assert len(asked) == 3 and made["rollout_metrics"]["environment/excluded"] == 0


@pytest.mark.parametrize("steps", [False, True])
def test_an_answer_that_stays_unjudged_is_excluded(steps, faulty, tokenizer):
    def plan(session, text):
        if session == "softmax_1":
            return UNSUPPORTED
        return CORRECT if session == "softmax_0" else WRONG

    options = {"max_turns": 1, "samples": 3, "step_wise_trajectories": steps}
    made, engine = play(faulty.url, tokenizer, plan, problems=("softmax", "relu"), **options)
    rewards = [sum(one) for one in made["rewards"]]
    assert rewards == pytest.approx([KEVIN, KEVIN / 2, 0, 0, 0, 0])
    assert made["loss_masks"][1] == [0] and all(sum(one) for one in made["loss_masks"][2:])
    assert len({len(made[name]) for name in ("rewards", "response_ids", "rollout_logprobs")}) == 1
    assert sum(session == "softmax_1" for session, _ in engine.read) == 3
    metrics = made["rollout_metrics"]
    assert metrics["environment/excluded"] == 1 and metrics["environment/correct"] == 0.2
    assert metrics["generate/min_num_tokens"] > 1


def test_a_server_that_goes_away(faulty, tokenizer):
    """No answer could be judged: nothing is learned from this batch."""

    def plan(session, text):
        if faulty.thread.is_alive():
            faulty.leave()
        return CORRECT

    made, _ = play(faulty.url, tokenizer, plan)
    assert made["rewards"] == [[0.0]] * 2 and made["loss_masks"] == [[0]] * 2
    assert made["rollout_metrics"]["environment/excluded"] == 2
    faulty.come_back()


def test_skyrls_own_generator_ends_the_run(faulty, tokenizer):
    with pytest.raises(Unjudged):
        play(faulty.url, tokenizer, lambda *asked: UNSUPPORTED, kind=SkyRLGymGenerator)


def test_batched_is_refused(faulty, tokenizer):
    with pytest.raises(ValueError, match=r"generator\.batched"):
        play(faulty.url, tokenizer, wrong_then_correct, batched=True)
