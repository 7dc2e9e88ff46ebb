"""prime-rl on the environment of python/warpgym/verifiers.py: its configuration, its environment
server in a process of its own, and the orchestrator's `Env`, which asks that server for episodes.
The model is an endpoint that a test wrote, in the place of vLLM."""

import asyncio
import contextlib
import socket
import subprocess
import sys

import pytest
from fake_openai import FakeOpenAI, answered
from gym_answers import CORRECT, KEVIN, UNSUPPORTED, WRONG

vf = pytest.importorskip("verifiers.v1")
pytest.importorskip("prime_rl.orchestrator.envs", exc_type=ImportError)

import tomllib  # noqa: E402
from prime_rl.configs.orchestrator import EnvConfig  # noqa: E402
from prime_rl.orchestrator.envs import Env  # noqa: E402

# What examples/verifiers/README.md says, with this test's addresses.
CONFIG = """
[env.taskset]
id = "warpgym-kernels"
url = "{url}"
problems = ["softmax"]
turns = 2
language = "c"
retry_budget_s = 1.0

[serve]
address = "{address}"
"""


@pytest.fixture(autouse=True)
def a_key(monkeypatch):
    monkeypatch.setenv("MODEL_KEY", "x")


@contextlib.contextmanager
def serving(config, folder):
    file = folder / "env.toml"
    file.write_text(config)
    command = [sys.executable, "-m", "prime_rl.entrypoints.env_server", "@", file]
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
        try:
            yield
        except BaseException as error:
            error.add_note((folder / "log").read_text(errors="replace")[-3000:])
            raise
        finally:
            process.terminate()
            process.wait(60)


def play(url, folder, answers, *, meanwhile=lambda: None):
    """An episode as the orchestrator asks for it."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    config = CONFIG.format(url=url, address=address)

    async def run(model):
        env = Env(EnvConfig(**tomllib.loads(config)), address)
        await asyncio.wait_for(env.start(), 120)
        assert (env.name, env.num_tasks) == ("warpgym-kernels", 1)
        (task,) = env.tasks
        meanwhile()
        client = vf.EvalClientConfig(base_url=model.url, api_key_var="MODEL_KEY")
        data = task.data.model_dump(mode="json")
        return await asyncio.wait_for(env.run(client, "tiny", None, data), 120)

    with FakeOpenAI() as model, serving(config, folder):
        model.plan = [answered(answers)]
        return asyncio.run(run(model))


def test_an_episode(faulty, tmp_path):
    def answers(messages):
        return WRONG if len(messages) < 4 else CORRECT

    episode = play(faulty.url, tmp_path, answers)
    assert episode.ok, episode.errors
    (trace,) = episode.traces
    assert trace.ok and not trace.has_error and trace.agent.trainable
    assert trace.reward == pytest.approx(0.4 * KEVIN) and trace.num_turns == 2
    assert trace.metrics["correct"] == 1.0


def test_an_unjudged_answer_is_an_error(faulty, tmp_path):
    """prime-rl drops a trace with an error from its group, before advantages."""
    episode = play(faulty.url, tmp_path, lambda messages: UNSUPPORTED)
    assert not episode.ok and episode.last_error.type
    assert all(trace.has_error for trace in episode.traces)
    assert "Unjudged" in str(episode.errors + [e for t in episode.traces for e in t.errors])


def test_a_server_that_goes_away(faulty, tmp_path):
    episode = play(faulty.url, tmp_path, lambda messages: CORRECT, meanwhile=faulty.leave)
    assert not episode.ok and all(trace.has_error for trace in episode.traces)
    faulty.come_back()
