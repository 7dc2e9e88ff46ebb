"""Episodes of python/warpgym against a server that fails on demand, and a real one that dies; no
other package is needed."""

import asyncio
import json
import signal
import sys
import threading

import pytest
import serving
from gym_answers import CORRECT, KEVIN, NO_CODE, SPEEDUP, STANDARD, UNSUPPORTED, WRONG, answer
from gym_server import GymServer
from support import CHECKOUT, WAIT_S, wait_until

sys.path.insert(0, str(CHECKOUT / "python"))

from warpgym import trajectories  # noqa: E402
from warpgym import verl as reward_function  # noqa: E402
from warpgym.client import AsyncClient, Client, NotFound, Refused, Unreachable  # noqa: E402
from warpgym.env import WarpgymEnv  # noqa: E402
from warpgym.episodes import AsyncConversation, Conversation, Unjudged  # noqa: E402


@pytest.fixture
def server():
    with GymServer() as one:
        yield one


@pytest.fixture(params=["sync", "async"])
def call(request, server):
    """Calls a method of either client."""

    def blocking(name, *arguments, **more):
        with Client(server.url, retry_budget_s=20) as gym:
            return getattr(gym, name)(*arguments, **more)

    async def awaiting(name, *arguments, **more):
        async with AsyncClient(server.url, retry_budget_s=20) as gym:
            return await getattr(gym, name)(*arguments, **more)

    if request.param == "sync":
        return blocking
    return lambda *arguments, **more: asyncio.run(awaiting(*arguments, **more))


def test_an_episode(call, server):
    episode = call("create_episode", "softmax", turns=2, gamma=0.5, notes={"run": 7})
    assert (episode.state, episode.turn, episode.turns, episode.step) == ("answering", 0, 2, None)
    assert episode.problem["id"] == "softmax" and episode.notes == {"run": 7}
    assert server.episodes[episode.id]["given"]["gamma"] == 0.5
    assert "reward" not in server.episodes[episode.id]["given"]  # the server's settings say it

    stepped = call("step_episode", episode.id, 0, WRONG, usage={"completion_tokens": 9})
    assert (stepped.step.reward, stepped.step.status, stepped.turn) == (0.0, "wrong", 1)
    assert stepped.messages[: len(episode.messages)] == episode.messages
    stepped = call("step_episode", episode.id, 1, CORRECT)
    assert stepped.done and stepped.messages is None and stepped.step.terminated
    assert stepped.step.reward == pytest.approx(KEVIN) and stepped.step.speedup == SPEEDUP
    assert stepped.returns == pytest.approx([0.5 * KEVIN, KEVIN])
    assert stepped.trajectory["schema"] == 1
    assert call("get_episode", episode.id).step == stepped.step

    call("delete_episode", episode.id)
    with pytest.raises(NotFound):
        call("get_episode", episode.id)


@pytest.mark.parametrize("faults", [["cut"], ["half"], [503, "cut"], ["half", 502]], ids=str)
def test_a_step_whose_answer_is_lost_is_judged_once(call, server, faults):
    episode = call("create_episode", "softmax")
    stepped = call("step_episode", episode.id, 0, WRONG)
    server.faults = list(faults)  # befall the same step, sent again
    assert call("step_episode", episode.id, 0, WRONG) == stepped
    assert server.judged == 1 and not server.faults


def test_an_episode_whose_creation_is_lost_is_created_once(call, server):
    server.faults = ["half", "cut"]
    assert call("create_episode", "softmax").id in server.episodes and len(server.episodes) == 1


def test_a_verdict_that_takes_its_time(call, server):
    episode = call("create_episode", "softmax")
    server.slow = 2
    assert call("step_episode", episode.id, 0, CORRECT).step.correct
    server.slow = 1 << 30
    with pytest.raises(TimeoutError, match="turn 1 .* still being judged"):
        call("step_episode", episode.id, 1, WRONG, timeout_s=0)
    server.slow = 0
    assert call("step_episode", episode.id, 1, WRONG).step.status == "wrong"


def test_another_answer_to_a_turn(call):
    episode = call("create_episode", "softmax")
    call("step_episode", episode.id, 0, WRONG)
    with pytest.raises(Refused, match="another answer") as caught:
        call("step_episode", episode.id, 0, CORRECT)
    assert caught.value.status == 409


def test_conversations_delete_abandoned_episodes(server):
    with Conversation(server.url, turns=2) as gym:
        first = gym.reset("softmax")
        gym.reset("relu", turns=1)
        assert first.id not in server.episodes and len(server.episodes) == 1
        assert gym.step(WRONG).done
        with pytest.raises(RuntimeError, match="reset first"):
            gym.step(WRONG)
        assert gym.problems() == ["softmax", "relu"]
        gym.configuration["language"] = "triton"
        assert gym.problems() == ["relu"]
        gym.reset("relu")
    assert len(server.episodes) == 1  # the one that was done

    async def unjudged():
        async with AsyncConversation(server.url) as gym:
            await gym.reset("softmax")
            await gym.step(UNSUPPORTED)

    with pytest.raises(Unjudged, match="unsupported"):
        asyncio.run(unjudged())
    assert len(server.episodes) == 1


def test_the_environment_without_gymnasium(server):
    env = WarpgymEnv(server.url, turns=1)
    drawn = [env.reset(seed=seed)[1]["problem"] for seed in range(8)]
    assert drawn == [env.reset(seed=seed)[1]["problem"] for seed in range(8)]
    assert set(drawn) == {"softmax", "relu"}
    _, reward, terminated, truncated, info = env.step(CORRECT)
    assert reward == pytest.approx(KEVIN) and (terminated, truncated) == (True, False)
    assert info["returns"] == pytest.approx([KEVIN])
    env.close()


# --- verl's reward function -----------------------------------------------------------------------

MODULE = "class Model:\n    pass\n"
TORCH = {"format": "torch", "source": MODULE, "entry_point": "Net"}


@pytest.mark.parametrize(
    ("ground_truth", "extra_info", "problem"),
    [
        ("softmax", None, "softmax"),
        (" softmax\n", {"entry_point": "Model"}, "softmax"),
        (MODULE, {"entry_point": "Net", "problem_id": 4}, TORCH),
        (MODULE, json.dumps({"entry_point": "Net"}), TORCH),
        (MODULE, {}, TORCH | {"entry_point": "Model"}),
        (MODULE, {"problem": None, "entry_point": None}, TORCH | {"entry_point": "Model"}),
        (MODULE, {"problem": "relu"}, "relu"),
        (None, {"problem": json.dumps(TORCH)}, TORCH),
        (TORCH, None, TORCH),
        (json.dumps(TORCH), None, TORCH),
    ],
)
def test_where_the_problem_comes_from(ground_truth, extra_info, problem):
    assert reward_function.problem_of(ground_truth, extra_info) == problem


@pytest.mark.parametrize("ground_truth", [None, "", 7, "{"])
def test_samples_without_a_problem(ground_truth):
    with pytest.raises(ValueError):
        reward_function.compute_score("x", CORRECT, ground_truth, {}, url="http://x")


def test_scores_of_a_batch(server):
    answers = [CORRECT, NO_CODE, WRONG] * 5
    columns = (["data"] * 15, answers, ["softmax"] * 15, [{}] * 15)
    scores = reward_function.compute_scores(*columns, url=server.url, at_a_time=4, reward="kevin")
    assert [one["score"] for one in scores] == pytest.approx([KEVIN, 0.0, 0.0] * 5)
    assert [one["format_ok"] for one in scores] == [1.0, 0.0, 1.0] * 5
    assert len({tuple(sorted(one)) for one in scores}) == 1
    (given,) = {json.dumps(one["given"]["notes"]) for one in server.episodes.values()}
    assert json.loads(given) == {"data_source": "data"}
    assert {one["given"]["reward"] for one in server.episodes.values()} == {"kevin"}


@pytest.mark.parametrize("batch", [False, True])
def test_an_absent_server_is_no_zero(server, batch):
    def score(url, answer, **more):
        if batch:
            return reward_function.compute_scores(["d"], [answer], ["p"], [{}], url=url, **more)[0]
        return reward_function.compute_score("d", answer, "p", {}, url=url, **more)

    with pytest.raises(Unreachable):
        score("http://127.0.0.1:1", CORRECT, retry_budget_s=0)
    marked = score("http://127.0.0.1:1", CORRECT, retry_budget_s=0, error_score=-2.0)
    assert (marked["score"], marked["excluded"], marked["status"]) == (-2.0, 1.0, "not_judged")
    assert marked.keys() == score(server.url, CORRECT).keys()
    with pytest.raises(Unjudged):
        score(server.url, UNSUPPORTED)
    server.faults = [503, "cut"]
    assert score(server.url, CORRECT)["excluded"] == 0.0


# --- trajectories ---------------------------------------------------------------------------------


def said(*roles):
    return [{"role": role, "content": f"{role} {i}"} for i, role in enumerate(roles)]


def trajectory(correct, **more):
    """Of an episode whose turns were correct as that says, each 1.0 faster than the one before."""
    messages, turns = said("system", "user"), []
    for i, right in enumerate(correct):
        answer = {"role": "assistant", "content": f"answer {i}"}
        speedup = i + 1.0 if right else 0.0
        turn = {"turn": i, "prompt": list(messages), "answer": answer["content"], "correct": right}
        turns.append(turn | {"speedup": speedup})
        messages += [answer, {"role": "user", "content": f"feedback {i}"}]
    best = max((i for i, right in enumerate(correct) if right), default=-1)
    made = {"schema": 1, "messages": messages, "turns": turns, "solved": any(correct)}
    made |= {"best_turn": best, "best_speedup": best + 1.0 if best >= 0 else 0.0, "return": 1.0}
    return made | more


def test_trajectories_are_read(tmp_path):
    path = tmp_path / "trajectories.jsonl"
    episodes = [trajectory([True]), trajectory([False, True])]
    assert trajectories.write(path, episodes) == 2
    with path.open("a") as file:
        file.write('\n{"schema": 1, "mess')  # a run that was killed
    assert list(trajectories.read(path, path)) == episodes * 2
    for line, why in (("[]", "no trajectory"), ("{", "no JSON"), ("{}", "no trajectory")):
        path.write_text(json.dumps(episodes[0]) + f"\n{line}\n")
        with pytest.raises(trajectories.Malformed, match=rf"jsonl:2: {why}"):
            list(trajectories.read(path))
    with pytest.raises(trajectories.Malformed, match="schema 9"):
        trajectories.parse(json.dumps(trajectory([True], schema=9)))


def test_rows_for_fine_tuning():
    episodes = [trajectory([False, True, True, False]), trajectory([False]), trajectory([True])]
    rows = [row["messages"] for row in trajectories.sft(episodes)]
    assert [row[-1]["content"] for row in rows] == ["answer 2", "answer 0"]
    assert len(rows[0]) == 2 + 5
    begun = trajectory([False, True, False])  # with a candidate that was there already
    begun["messages"][2:2] = said("assistant", "user")
    (row,) = trajectories.sft([begun])
    assert row["messages"][-1]["content"] == "answer 1" and len(row["messages"]) == 4 + 3
    rows = [row["messages"] for row in trajectories.sft(episodes, turns="correct")]
    assert [row[-1]["content"] for row in rows] == ["answer 1", "answer 2", "answer 0"]
    prompt = episodes[0]["turns"][1]["prompt"]
    assert rows[0] == prompt + [{"role": "assistant", "content": "answer 1"}]
    rows = list(trajectories.sft(episodes, turns="best", min_speedup=2.0))
    assert [row["messages"][-1]["content"] for row in rows] == ["answer 2"]
    assert len(list(trajectories.sft(episodes, solved=False))) == 3
    assert len(list(trajectories.sft(episodes, turns="best", solved=False))) == 2
    assert not list(trajectories.sft(episodes, min_return=1.5))
    with pytest.raises(ValueError, match="'conversation', 'best' or 'correct'"):
        list(trajectories.sft(episodes, turns="all"))


# --- a server that dies ---------------------------------------------------------------------------


def test_a_step_resumes_after_the_server_was_killed(warpgym):
    """The client asks the next server at that address for the same; nothing is judged twice."""
    first = serving.Server(warpgym)
    worker = serving.Worker(first.queue)
    with Conversation(first.url, turns=2, retry_budget_s=60, language="c") as gym:
        gym.reset("softmax")
        gym.step(WRONG)
        answering = threading.Thread(
            target=lambda: gym.step(answer("vector=correct delay_ms=1000"))
        )
        answering.start()
        wait_until(lambda: gym.client.stats()["running"], "the second turn judged")
        first.stop(signal.SIGKILL)
        next_ = serving.Server(warpgym, "--listen", f"127.0.0.1:{first.port}", queue=first.queue)
        answering.join(WAIT_S)
        assert gym.episode.done and gym.episode.step.reward == pytest.approx(STANDARD)
        evaluations = list(gym.client.evaluations())
        assert sorted(one.outcome for one in evaluations) == ["passed", "wrong"]
    assert len(worker.stop()) == 2
    assert next_.stop() == 0
