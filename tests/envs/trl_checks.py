"""python/warpgym/trl.py as TRL's trainers call it, without TRL: trl_trainer_checks.py has the real
ones."""

import asyncio
import contextlib
import inspect
import json
import os
import socket
import threading

import pytest
from gym_answers import CORRECT, KEVIN, NO_CODE, SPEEDUP, UNSUPPORTED, WRONG
from warpgym.client import Refused, Unreachable
from warpgym.episodes import Unjudged
from warpgym.trl import AWAY, OVER, best_reward, environment, kernel_reward, return_reward, rows

ANSWERS = [CORRECT, WRONG, NO_CODE]


class Logs(dict):
    """What TRL hands to reward functions beside the columns."""

    def __init__(self):
        self.metrics = {}
        self["log_metric"] = lambda name, value: self.metrics.setdefault(name, []).append(value)
        self["log_extra"] = self.__setitem__


def rewards_of(function, completions, problem="softmax", **more):
    """As `_calculate_rewards` of TRL 1.16 does it."""
    given = {
        "prompts": [""] * len(completions),
        "completions": completions,
        "completion_ids": [[1]] * len(completions),
        "problem": [problem] * len(completions),
        "trainer_state": None,
    } | more
    if inspect.iscoroutinefunction(function):
        return asyncio.run(function(**given))
    return function(**given)


def message(content, **more):
    return {"role": "assistant", "content": content} | more


@pytest.mark.parametrize("blocking", [False, True])
@pytest.mark.parametrize("conversational", [False, True])
def test_rewards_in_the_order_of_completions(url, blocking, conversational):
    completions = [[message(one)] for one in ANSWERS] if conversational else ANSWERS
    logs = Logs()
    function = kernel_reward(url, reward="kevin", blocking=blocking)
    assert function.__name__ == "kernel_reward"
    assert rewards_of(function, completions, **logs) == pytest.approx([KEVIN, 0.0, 0.0])
    assert logs.metrics["kernel/correct"] == [1.0, 0.0, 0.0]
    assert logs.metrics["kernel/speedup"] == pytest.approx([SPEEDUP, 0.0, 0.0])
    assert logs.metrics["kernel/excluded"] == [0.0, 0.0, 0.0]


def test_any_completion_is_an_answer(url):
    strange = [
        "\ud800\x00", b"\xff", None, "", [], [message(None)], [{"role": "tool", "content": "x"}],
        [message([{"type": "text", "text": CORRECT}, {"type": "image"}])],
        [message("", tool_calls=[])], [message(NO_CODE), message(CORRECT)], "x" * (5 << 20),
        [message(CORRECT, reasoning_content="I think.")],
    ]  # fmt: skip
    rewards = rewards_of(kernel_reward(url, reward="kevin"), strange)
    right = [i for i, one in enumerate(rewards) if one]
    assert right == [7, 9, 11] and None not in rewards


def test_an_unjudged_answer_has_no_reward(faulty):
    logs = Logs()
    rewards = rewards_of(kernel_reward(faulty.url), [CORRECT, UNSUPPORTED, WRONG], **logs)
    assert rewards[1] is None and rewards[0] > 0 and rewards[2] == 0.0
    assert logs.metrics["kernel/excluded"] == [0.0, 1.0, 0.0]
    assert len(logs.metrics["kernel/correct"]) == 2


def test_nothing_judged_ends_the_run(faulty):
    with pytest.raises(Unjudged, match="no reward: its verdict is unsupported"):
        rewards_of(kernel_reward(faulty.url), [UNSUPPORTED, UNSUPPORTED])


def unused_url():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{one.getsockname()[1]}"


def test_a_server_that_is_away_ends_the_run():
    with pytest.raises(Unreachable):
        rewards_of(kernel_reward(unused_url(), retry_budget_s=0.1), [CORRECT])


def test_bad_data_says_what_is_missing(url):
    with pytest.raises(ValueError, match="no column 'problem': warpgym.trl.rows makes one"):
        asyncio.run(kernel_reward(url)(completions=[CORRECT]))
    with pytest.raises(ValueError, match="no column 'problem'"):
        environment(url)().reset(prompt="x")
    with pytest.raises(ValueError, match="a problem is an id, an object or a module's source"):
        rewards_of(kernel_reward(url), [CORRECT], problem=7)


def test_a_configuration_that_is_refused_ends_the_run(server_url):
    with pytest.raises(Refused, match="turns"):
        rewards_of(kernel_reward(server_url, turns=-1), [CORRECT, CORRECT])


@pytest.fixture
def server_url(url):
    if not os.environ.get("TEST_GYM_URL"):
        pytest.skip("the test's own server refuses no configuration")
    return url


def test_rows_hold_the_gyms_prompt(url):
    found = [*rows(url, ["softmax"])]
    assert found[0]["problem"] == "softmax" and found[0]["prompt"][-1]["role"] == "user"
    whole = {"id": "relu"}
    assert json.loads([*rows(url, [json.dumps(whole)])][0]["problem"]) == whole


# --- the environment -----------------------------------------------------------------------------


def played(factory, *answers):
    gym = factory()
    task = gym.reset(problem="softmax", prompt=[{"role": "user", "content": ""}])
    assert "softmax" in task and "Submit your answer by `submit`" in task
    return gym, [gym.submit(answer=one) for one in answers]


def scored(function, environments, completions=None, **more):
    completions = completions or [[message("Done.")] for _ in environments]
    return rewards_of(function, completions, environments=environments, **more)


def test_an_episode_of_two_turns(url):
    gym, said = played(environment(url, turns=2, reward="kevin"), WRONG, CORRECT, CORRECT)
    assert OVER not in said[0] and said[1].endswith(OVER) and said[2] == OVER
    logs = Logs()
    assert scored(return_reward, [gym], **logs) == pytest.approx([0.4 * KEVIN])
    assert logs.metrics["kernel/turns"] == [2.0] and logs.metrics["kernel/correct"] == [1.0]
    assert scored(best_reward, [gym]) == pytest.approx([KEVIN])
    gym.reset(problem="softmax")  # the trainer uses it again
    gym.submit(answer=WRONG)
    assert scored(best_reward, [gym]) == [0.0]


def test_what_the_model_says_counts_if_it_did_not_submit(url):
    pair = [played(environment(url, turns=2, reward="kevin"))[0] for _ in range(2)]
    said = [[message(CORRECT)], [message(None)]]
    assert scored(return_reward, pair, said) == pytest.approx([KEVIN, 0.0])


@pytest.mark.parametrize("answer", [None, "", "\ud800\x00", 7, {"code": "x"}, ["x"]])
def test_any_argument_is_an_answer(url, answer):
    gym, said = played(environment(url, turns=2, reward="kevin"), answer)
    assert said[0] and scored(return_reward, [gym]) == [0.0]


def test_an_unjudged_turn_is_left_out(faulty):
    factory = environment(faulty.url, turns=2)
    left_out, _ = played(factory, UNSUPPORTED, CORRECT)
    nothing, _ = played(factory, UNSUPPORTED, UNSUPPORTED)
    rewards = scored(return_reward, [left_out, nothing])
    assert rewards == [pytest.approx(KEVIN), None]
    assert scored(best_reward, [left_out, nothing]) == [pytest.approx(KEVIN), None]
    with pytest.raises(Unjudged):
        scored(return_reward, [nothing])


@contextlib.contextmanager
def away(server):
    server.leave()
    try:
        yield
    finally:
        server.come_back()


def test_a_server_that_goes_away(faulty):
    factory = environment(faulty.url, turns=2, retry_budget_s=0.3)
    gyms = [played(factory, WRONG)[0], played(factory)[0]]
    with away(faulty):
        assert [one.submit(answer=CORRECT) for one in gyms] == [AWAY, AWAY]
        assert scored(return_reward, gyms) == [0.0, None]
        with pytest.raises(Unreachable):
            scored(return_reward, gyms[1:])
        with pytest.raises(Unreachable):
            gyms[0].reset(problem="softmax")


def test_a_server_that_comes_back(faulty):
    gym, _ = played(environment(faulty.url, turns=1, retry_budget_s=30))
    faulty.leave()
    threading.Timer(0.5, faulty.come_back).start()
    gym.submit(answer=CORRECT)
    assert scored(return_reward, [gym]) == pytest.approx([KEVIN])


def test_the_model_is_offered_one_function(url):
    """TRL offers each public method but reset and get_reward."""
    gym = environment(url)()
    names = [name for name, _ in inspect.getmembers(type(gym), predicate=inspect.isfunction)]
    assert [name for name in names if name[0] != "_"] == ["reset", "submit"]
    text = inspect.getdoc(gym.submit)
    assert "Args:\n    answer: " in text and "Returns:" in text
