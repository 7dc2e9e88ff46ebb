"""python/warpgym/tinker_cookbook.py: the cookbook's own rollouts and data. A test wrote the policy
that stands in for a sampling client."""

import asyncio
import pickle

import chat_tokenizer
import pytest
from chat_tokenizer import END
from gym_answers import CORRECT, NO_CODE, SPEEDUP, STANDARD, UNSUPPORTED, WRONG

pytest.importorskip("tinker_cookbook")

from tinker_cookbook import tokenizer_utils  # noqa: E402
from tinker_cookbook.completers import TokensWithLogprobs  # noqa: E402
from tinker_cookbook.exceptions import AllTrajectoriesFailedError  # noqa: E402
from tinker_cookbook.rl.data_processing import trajectory_to_data  # noqa: E402
from tinker_cookbook.rl.rollout_strategy import (  # noqa: E402
    FailFast,
    MinViableGroup,
    RetryOnFailure,
)
from tinker_cookbook.rl.rollouts import do_group_rollout  # noqa: E402
from warpgym.client import Unreachable  # noqa: E402
from warpgym.episodes import Unjudged  # noqa: E402
from warpgym.tinker_cookbook import KernelDatasetBuilder, KernelEnv  # noqa: E402


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return chat_tokenizer.make(tmp_path_factory.mktemp("model"))


class Policy:
    """Says what `plan` says to what it reads. A policy of the cookbook's is called with tokens."""

    def __init__(self, model, plan):
        self.tokenizer, self.plan, self.read = tokenizer_utils.get_tokenizer(model), plan, []

    async def __call__(self, model_input, stop, **limits):
        text = self.tokenizer.decode(model_input.to_ints())
        self.read.append(text)
        said = self.plan(text)
        tokens = said if isinstance(said, list) else self.encode(said)
        reason = "stop" if tokens[-1:] == self.encode(END) else "length"
        return TokensWithLogprobs(
            tokens=tokens, maybe_logprobs=[-0.5] * len(tokens), stop_reason=reason
        )

    def encode(self, text):
        return self.tokenizer.encode(text, add_special_tokens=False)


def answers_seen(text):
    return text.count("<|im_start|>assistant\n") - 1


def builder_of(url, model, **options):
    options = {"language": "c", "problems": ["softmax"], "turns": 2, "group_size": 2} | options
    return KernelDatasetBuilder(
        url=url, model_name_for_tokenizer=model, renderer_name="qwen3_instruct", **options
    )


def play(url, model, plan, strategy=None, **options):
    """A group of the first batch, and what the policy read."""

    async def run():
        dataset, _ = await builder_of(url, model, **options)()
        (builder, *_) = dataset.get_batch(0)
        return await do_group_rollout(pickle.loads(pickle.dumps(builder)), policy, strategy)

    policy = Policy(model, plan)
    return asyncio.run(run()), policy


def test_a_group(url, model):
    def plan(text):
        return (WRONG if answers_seen(text) == 0 else CORRECT) + END

    group, policy = play(url, model, plan)
    assert group.get_total_rewards() == pytest.approx([0.4 * STANDARD] * 2)
    assert group.metrics_G[0] == pytest.approx({"best_correct": 1.0, "best_speedup": SPEEDUP})
    first, second = group.trajectories_G[0].transitions
    assert first.reward == 0 and first.logs["status"] == "wrong" and not first.episode_done
    assert second.metrics["turn_reward"] == pytest.approx(STANDARD) and second.episode_done
    assert first.logs["feedback"] in policy.read[-1] and "speedup" not in first.metrics
    # One conversation that only grows is one row of training data.
    (datum,) = trajectory_to_data(group.trajectories_G[0], 1.0)
    trained = int(sum(datum.loss_fn_inputs["mask"].data))
    assert trained == len(first.ac.tokens) + len(second.ac.tokens)


ODD = [CORRECT, CORRECT + "User: ", CORRECT + END + END, [], list(range(256)), NO_CODE]


@pytest.mark.parametrize("said", ODD)
def test_an_answer_of_any_tokens(said, url, model):
    """Cut off, ended twice, empty, no text at all: the gym judges it, and goes on."""
    group, _ = play(url, model, lambda text: said)
    correct = isinstance(said, str) and CORRECT in said
    for trajectory in group.trajectories_G:
        statuses = [one.logs["status"] for one in trajectory.transitions]
        assert statuses == ["passed" if correct else "no_code"] * 2


def test_thinking_goes_apart(faulty, model):
    plan = lambda text: f"<think>\nfirst ```c\nno\n```\n</think>\n\n{CORRECT}{END}"  # noqa: E731
    builder = builder_of(faulty.url, model, turns=1, group_size=1)

    async def run():
        renderer = tokenizer_utils.get_tokenizer(model)
        from tinker_cookbook.renderers import get_renderer

        env = KernelEnv(get_renderer("qwen3", renderer), faulty.url, "softmax", {"turns": 1})
        await env.initial_observation()
        said = renderer.encode(plan(""), add_special_tokens=False)
        return await env.step(said, extra={"stop_reason": "stop"})

    assert builder.gamma == 0.4 and asyncio.run(run()).logs["status"] == "passed"
    (episode,) = faulty.episodes.values()
    assert "no\n" not in episode["answers"][0]


def test_batches(faulty, model):
    """All problems of the server, in the order of a seed; a last batch may be smaller."""

    async def of(**options):
        options = {"problems": [], "batch_size": 3, "epochs": 2} | options
        return await builder_of(faulty.url, model, **options)()

    train, test = asyncio.run(of())
    problems = [[one.problem for one in train.get_batch(i)] for i in range(len(train))]
    assert [len(one) for one in problems] == [3, 1] and test is None
    assert sorted(sum(problems, [])) == ["relu", "relu", "softmax", "softmax"]
    _, test = asyncio.run(of(test_problems=["relu"]))
    (group,) = test.get_batch(0)
    assert (group.problem, group.group_size) == ("relu", 1)


def test_a_prompt_beyond_the_limit(url, model):
    """The cookbook's limit of a trajectory: nothing is sampled."""
    group, policy = play(url, model, lambda text: WRONG + END, max_trajectory_tokens=20)
    assert policy.read == []
    assert [one.stop_reason for one in group.trajectories_G] == ["max_tokens"] * 2


# --- verdicts that say nothing of the answer ------------------------------------------------------


def test_an_unjudged_answer_is_played_again(faulty, model):
    asked = []

    def plan(text):
        asked.append(text)
        return (UNSUPPORTED if len(asked) == 1 else CORRECT) + END

    group, _ = play(faulty.url, model, plan, RetryOnFailure(max_retries=1), turns=1)
    assert len(group.trajectories_G) == 2 and len(asked) == 3
    assert [one.error_type for one in group.rollout_errors] == ["Unjudged"]
    assert 0.0 not in group.get_total_rewards()


def test_an_answer_that_stays_unjudged_is_left_out(faulty, model):
    asked = []

    def plan(text):
        asked.append(text)
        return (CORRECT if len(asked) == 1 else UNSUPPORTED) + END

    strategy = MinViableGroup(min_successful=1, max_retries=1)
    group, _ = play(faulty.url, model, plan, strategy, turns=1, group_size=3)
    assert len(group.trajectories_G) == len(group.get_total_rewards()) == 1
    assert {one.error_type for one in group.rollout_errors} == {"Unjudged"}


def test_without_a_strategy_it_ends_the_run(faulty, model):
    with pytest.raises(Unjudged):
        play(faulty.url, model, lambda text: UNSUPPORTED + END, FailFast())


def test_a_server_that_goes_away(faulty, model):
    def plan(text):
        faulty.leave()
        return CORRECT + END

    options = {"turns": 1, "retry_budget_s": 0.5}
    with pytest.raises(Unreachable):
        play(faulty.url, model, plan, RetryOnFailure(max_retries=1), **options)
    faulty.come_back()
    with pytest.raises(AllTrajectoriesFailedError):
        strategy = MinViableGroup(min_successful=1, max_retries=1)
        play(faulty.url, model, plan, strategy, **options)
    faulty.come_back()


def test_episodes_of_failed_rollouts_are_deleted(faulty, model):
    def plan(text):
        raise RuntimeError("the sampler is away")

    with pytest.raises(RuntimeError, match="sampler"):
        play(faulty.url, model, plan, group_size=1)
    assert faulty.episodes == {}


def test_a_rollout_that_outlives_its_group(faulty, model):
    async def run():
        dataset, _ = await builder_of(faulty.url, model)()
        (builder,) = dataset.get_batch(0)
        begun, late = await builder.make_envs()
        await begun.initial_observation()
        assert len(faulty.episodes) == 1
        beginning = asyncio.ensure_future(late.initial_observation())
        await asyncio.sleep(0)
        await builder.cleanup()
        for rest in (beginning, begun.step([1])):
            with pytest.raises(RuntimeError, match="has ended"):
                await rest

    asyncio.run(run())
    assert faulty.episodes == {}
