"""python/warpgym/verifiers.py: verifiers runs its episodes with a model that a test wrote."""

import asyncio
import importlib

import pytest
from fake_openai import FakeOpenAI, answered
from gym_answers import CORRECT, KEVIN, SPEEDUP, STANDARD, UNSUPPORTED, WRONG

vf = pytest.importorskip("verifiers.v1")

from warpgym.verifiers import load_environment  # noqa: E402


@pytest.fixture(autouse=True)
def a_home_of_its_own(monkeypatch):
    monkeypatch.setenv("MODEL_KEY", "x")


def play(url, answers, rollouts=1, **taskset):
    """The episodes of all tasks, and what the model was asked."""

    async def run():
        env = load_environment(url=url, language="c", **taskset)
        with FakeOpenAI() as model:
            model.plan = [answered(answers)]
            client = vf.EvalClientConfig(base_url=model.url, api_key_var="MODEL_KEY")
            sampling = vf.SamplingConfig()
            ctx = vf.ModelContext(model="tiny", client=client, sampling=sampling)
            async with env.serving():
                slots = [slot for task in env.taskset for slot in env.slots(task, rollouts)]
                episodes = await asyncio.gather(*(env.run_slot(slot, ctx) for slot in slots))
            return episodes, [question["messages"] for question in model.questions]

    return asyncio.run(run())


def test_an_episode(url):
    def answers(messages):
        return WRONG if len(messages) < 4 else CORRECT

    (episode,), asked = play(url, answers, problems=["softmax"], turns=2)
    assert episode.ok, episode.errors
    (trace,) = episode.traces
    assert trace.reward == pytest.approx(0.4 * STANDARD)
    metrics = {"correct": 1.0, "compiled": 1.0, "speedup": SPEEDUP, "judged_turns": 2.0}
    assert {name: trace.metrics[name] for name in metrics} == pytest.approx(metrics)
    assert episode.task.key == "warpgym/softmax"
    assert len(asked) == 2 and asked[1][: len(asked[0])] == asked[0]
    roles = [message["role"] for message in asked[1]]
    assert roles[-2:] == ["assistant", "user"] and asked[1][-2]["content"] == WRONG
    feedback = trace.info["warpgym"]["turns"][0]["feedback"]
    assert feedback and feedback in asked[1][-1]["content"]


def test_all_problems_several_times(faulty):
    episodes, asked = play(faulty.url, lambda messages: CORRECT, rollouts=2, turns=1)
    keys = ["warpgym/relu", "warpgym/relu", "warpgym/softmax", "warpgym/softmax"]
    assert sorted(episode.task.key for episode in episodes) == keys
    assert all(episode.ok for episode in episodes) and len(asked) == 4
    assert [one.traces[0].reward for one in episodes] == pytest.approx([KEVIN] * 4)


@pytest.mark.parametrize("fault", ["unjudged", "refused"])
def test_an_unjudged_answer_has_no_reward(fault, faulty):
    def answers(messages):
        faulty.faults = [404] if fault == "refused" else []
        return UNSUPPORTED

    (episode,), _ = play(faulty.url, answers, problems=["softmax"], turns=2)
    assert not episode.ok and episode.errors


def test_the_example(url, example):
    with FakeOpenAI() as model:
        model.plan = [answered(lambda messages: CORRECT)]
        arguments = ("--url", url, "--model", model.url, "--turns", 1, "--rollouts", 2, "softmax")
        output = example("verifiers/evaluate.py", *arguments)
    line = "warpgym/softmax: reward 2.31, correct 1, 2.01 times as fast"
    assert output.splitlines() == [line, line]


def test_beside_openenv():
    """Here mcp is that of verifiers: OpenEnv cannot be imported, and the error says why."""
    pytest.importorskip("openenv", reason="no OpenEnv", exc_type=ModuleNotFoundError)
    with pytest.raises(ImportError, match="in two environments .verifiers 0.4 requires mcp 2.0"):
        importlib.import_module("warpgym.openenv")
