"""python/warpgym/env.py with Gymnasium."""

import functools
import warnings

import pytest
from fake_openai import FakeOpenAI, answered
from gym_answers import CORRECT, NO_CODE, SPEEDUP, STANDARD, WRONG

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.utils.env_checker import check_env  # noqa: E402
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv  # noqa: E402
from warpgym.env import AnyText, WarpgymEnv  # noqa: E402

ASYNC = functools.partial(AsyncVectorEnv, shared_memory=False)


def test_gymnasium_finds_nothing_to_complain_of(url):
    env = gymnasium.make("warpgym/Kernels-v0", url=url, problems=["softmax"], render_mode="ansi")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)
    env.close()


def test_an_episode(url):
    env = gymnasium.make("warpgym/Kernels-v0", url=url, turns=3, language="c")
    observation, info = env.reset(options={"problem": "softmax"})
    assert "softmax" in observation and info["problem"] == "softmax"
    assert {message["role"] for message in info["messages"]} <= {"system", "user"}

    observation, reward, terminated, truncated, info = env.step(NO_CODE)
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert info["status"] == "no_code" and info["turn"] == 0.0
    assert info["messages"][-1]["content"] in observation

    *_, reward, terminated, truncated, info = env.step(CORRECT)
    assert reward == pytest.approx(STANDARD) and not (terminated or truncated)
    assert (info["correct"], info["speedup"]) == (1.0, pytest.approx(SPEEDUP))

    observation, reward, terminated, truncated, info = env.step(WRONG)
    assert reward == 0.0 and terminated != truncated and observation
    assert info["returns"] == pytest.approx([0.4 * STANDARD, STANDARD, 0.0])
    assert env.unwrapped.episode.trajectory["schema"] == 1
    with pytest.raises(RuntimeError, match="reset first"):
        env.unwrapped.step(WRONG)
    env.close()


def test_the_seed_draws_the_problem(url):
    env = WarpgymEnv(url, problems=["softmax", "rms_norm", "cumsum"])
    drawn = [env.reset(seed=seed)[1]["problem"] for seed in range(8)]
    assert drawn == [env.reset(seed=seed)[1]["problem"] for seed in range(8)]
    assert len(set(drawn)) > 1
    env.close()


@pytest.mark.parametrize("make", [SyncVectorEnv, ASYNC], ids=["sync", "async"])
def test_several_at_a_time(make, url):
    one = functools.partial(WarpgymEnv, url, problems=["softmax"], turns=2, language="c")
    envs = make([one] * 3)
    observations, info = envs.reset(seed=7)
    assert len(observations) == 3 and all("softmax" in text for text in observations)
    answers = (CORRECT, WRONG, NO_CODE)
    observations, rewards, terminated, truncated, info = envs.step(answers)
    assert rewards == pytest.approx([STANDARD, 0.0, 0.0])
    assert [*info["status"]] == ["passed", "wrong", "no_code"]
    assert not terminated.any() and not truncated.any()
    *_, terminated, truncated, info = envs.step(answers)
    assert (terminated | truncated).all()
    observations, rewards, *_ = envs.step(answers)  # begins the next episodes
    assert all("softmax" in text for text in observations) and not rewards.any()
    envs.close()


def test_shared_memory_is_refused(url):
    with pytest.raises(ValueError, match="shared_memory=False"):
        AsyncVectorEnv([functools.partial(WarpgymEnv, url)])


def test_text_of_any_characters():
    space = AnyText(5)
    assert "ä☃\n" in space and "" in space and "123456" not in space and 5 not in space
    space.seed(3)
    first = [space.sample() for _ in range(20)]
    space.seed(3)
    assert first == [space.sample() for _ in range(20)] and all(one in space for one in first)


def test_the_example(url, example):
    with FakeOpenAI() as model:
        model.plan = [answered(lambda messages: CORRECT)]
        arguments = ("--url", url, "--model", model.url, "--turns", 2, "softmax")
        output = example("gymnasium/play.py", *arguments)
    assert "turn 1: passed, 2.01 times as fast, reward 2.25" in output
    assert f"returns: {STANDARD + 0.4 * STANDARD:.2f} {STANDARD:.2f}" in output
