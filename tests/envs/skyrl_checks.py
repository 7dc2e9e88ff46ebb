"""python/warpgym/skyrl.py through skyrl_gym's own registry and metrics."""

import dataclasses

import pytest
from gym_answers import CORRECT, KEVIN, NO_CODE, SPEEDUP, STANDARD, UNSUPPORTED, WRONG

skyrl_gym = pytest.importorskip("skyrl_gym")

import warpgym.skyrl  # noqa: E402, F401
from skyrl_gym.metrics import aggregate_for_environment  # noqa: E402
from warpgym.client import Unreachable  # noqa: E402
from warpgym.episodes import Unjudged  # noqa: E402

ROW = {"reward_spec": {"method": "rule", "ground_truth": "softmax"}}


def make(url, row=None, **config):
    config = {"url": url, "language": "c"} | config
    return skyrl_gym.make("warpgym", env_config=config, extras=row or ROW | {"max_turns": 2})


def test_an_episode(url):
    env = make(url)
    messages, facts = env.init([{"role": "user", "content": "of the dataset"}])
    assert "softmax" in messages[-1]["content"] and facts["episode"]
    first = env.step(WRONG)
    assert (first["reward"], first["done"]) == (0.0, False)
    (observation,) = first["observations"]
    assert observation["role"] == "user" and first["metadata"]["status"] == "wrong"
    last = env.step(CORRECT)
    assert last["done"] and last["observations"] == []
    assert last["reward"] == pytest.approx(0.4 * STANDARD)
    assert last["metadata"]["returns"] == pytest.approx([0.4 * STANDARD, STANDARD])
    metrics = {"turns": 2.0, "format_ok": 1.0, "compiled": 1.0, "correct": 1.0}
    assert env.get_metrics() == pytest.approx(metrics | {"speedup": SPEEDUP})
    env.close()


def test_rows_and_configurations(faulty):
    """SkyRL's configuration is a dataclass; a row goes before it."""

    @dataclasses.dataclass
    class Config:
        url: str = faulty.url
        language: str = "c"
        turns: int = 3

    row = {"extra_info": {"problem": "relu", "language": "cuda", "gamma": 1.0}, "max_turns": 7}
    with skyrl_gym.make("warpgym", env_config=Config(), extras=row) as env:
        env.init([])
        assert env.step(WRONG)["reward"] == 0
        assert env.step(CORRECT)["reward"] == pytest.approx(KEVIN)
        (episode,) = faulty.episodes.values()
        given = {name: episode["given"][name] for name in ("turns", "language", "gamma", "problem")}
        wanted = {"turns": 3, "language": "cuda", "gamma": 1.0, "problem": {"id": "relu"}}
        assert given == wanted
    assert faulty.episodes == {}  # closed before its end


def test_metrics_of_many(url):
    """A mean over episodes: that of `speedup` over those that have one."""
    made = []
    for answer in (CORRECT, NO_CODE):
        env = make(url, turns=1)
        env.init([])
        env.step(answer)
        made.append(env.get_metrics())
    metrics = aggregate_for_environment("warpgym", made)
    assert metrics["correct"] == 0.5 and metrics["speedup"] == pytest.approx(SPEEDUP)


@pytest.mark.parametrize("odd", ["", "\0", "\ud800", "x" * (5 << 20)])
def test_an_answer_of_any_text(odd, url):
    env = make(url, turns=1)
    env.init([])
    assert env.step(odd)["reward"] == 0.0


def test_without_a_problem(url):
    with pytest.raises(ValueError, match="neither extra_info"):
        make(url, {"max_turns": 1})


def test_an_unjudged_answer_has_no_reward(faulty):
    env = make(faulty.url)
    env.init([])
    with pytest.raises(Unjudged):
        env.step(UNSUPPORTED)
    assert faulty.episodes == {}  # SkyRL does not close it


def test_a_server_that_goes_away(faulty):
    env = make(faulty.url, retry_budget_s=0.5)
    env.init([])
    faulty.leave()
    with pytest.raises(Unreachable):
        env.step(CORRECT)
    faulty.come_back()


def test_the_example(url, example, tmp_path):
    datasets = pytest.importorskip("datasets")
    file = tmp_path / "train.parquet"
    output = example("skyrl/make_dataset.py", "--url", url, "--out", file, "softmax")
    assert output.startswith("1 rows")
    (row,) = datasets.load_dataset("parquet", data_files=str(file), split="train").to_list()
    assert row["env_class"] == "warpgym" and row["reward_spec"]["ground_truth"] == "softmax"
    env = skyrl_gym.make(row["env_class"], env_config={"url": url}, extras=row)
    assert env.init(row["prompt"])[0] == row["prompt"]
    env.close()
