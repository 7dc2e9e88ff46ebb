"""python/warpgym/openenv.py: OpenEnv's server on a port, and its client."""

import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from gym_answers import CORRECT, NO_CODE, SPEEDUP, STANDARD, UNSUPPORTED, WRONG

pytest.importorskip("openenv")

import requests  # noqa: E402
import uvicorn  # noqa: E402
from openenv.core import GenericEnvClient  # noqa: E402
from warpgym.openenv import KernelAction, KernelEnv, make_app  # noqa: E402

DIRECTORY = Path(__file__).resolve().parents[2] / "examples" / "openenv"


class Running:
    def __init__(self, url, **options):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        config = uvicorn.Config(make_app(url, **options), log_level="critical")
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.socket]})

    def __enter__(self):
        self.thread.start()
        return self.url

    def __exit__(self, *ignored):
        self.server.should_exit = True
        self.thread.join(60)


@pytest.fixture(scope="module")
def address(url):
    with Running(url, problems=["softmax"], turns=2, language="c") as address:
        yield address


def test_an_episode(address):
    with KernelEnv(base_url=address).sync() as env:
        result = env.reset()
        observation = result.observation
        assert not result.done and result.reward is None
        assert observation.problem == "softmax" and "softmax" in observation.text
        assert {message["role"] for message in observation.messages} <= {"system", "user"}

        result = env.step(KernelAction(answer=NO_CODE))
        assert (result.done, result.reward) == (False, 0.0)
        assert result.observation.status == "no_code" and result.observation.turn == 1

        result = env.step(KernelAction(answer=CORRECT))
        assert result.done and result.reward == pytest.approx(STANDARD)
        assert result.observation.correct and result.observation.speedup == pytest.approx(SPEEDUP)
        assert result.metadata["returns"] == pytest.approx([0.4 * STANDARD, STANDARD])

        state = env.state()
        assert state.episode_id == observation.episode_id and state.step_count == 2 and state.done
        assert state.rewards == pytest.approx([0.0, STANDARD])


def test_sessions_at_the_same_time(address):
    with KernelEnv(base_url=address).sync() as one, KernelEnv(base_url=address).sync() as other:
        first, second = one.reset(turns=1), other.reset(turns=3)
        assert first.observation.episode_id != second.observation.episode_id
        assert other.step(KernelAction(answer=WRONG)).done is False
        assert one.step(KernelAction(answer=WRONG)).done is True


def test_answers_of_any_bytes(address):
    """Pydantic refuses half a surrogate pair, and what was not sent as text."""
    with KernelEnv(base_url=address).sync() as env:
        env.reset(turns=4)
        for odd in ("\0", "\ud800"):
            result = env.step(KernelAction(answer=CORRECT.replace("Here", odd), reasoning=odd))
            assert result.observation.status == "passed" and not result.done
    with GenericEnvClient(base_url=address).sync() as env:
        env.reset(problem="softmax")
        assert env.step({"answer": CORRECT + "\udfff"}).observation["status"] == "passed"


def test_the_generic_client(address):
    with GenericEnvClient(base_url=address).sync() as env:
        env.reset(problem="softmax")
        result = env.step({"answer": CORRECT})
        assert result.reward == pytest.approx(STANDARD) and result.observation["status"] == "passed"


def test_plain_http(address):
    """Each request has an environment of its own; the episode is the server's."""
    reply = requests.post(f"{address}/reset", json={"problem": "softmax"}, timeout=60).json()
    episode = reply["observation"]["episode_id"]
    for answer, reward, done in ((WRONG, 0.0, False), (CORRECT, STANDARD, True)):
        action = {"answer": answer, "episode_id": episode}
        reply = requests.post(f"{address}/step", json={"action": action}, timeout=60).json()
        assert (reply["reward"], reply["done"]) == (pytest.approx(reward), done)
    schema = requests.get(f"{address}/schema", timeout=60).json()
    assert "answer" in schema["action"]["properties"]
    assert "messages" in schema["observation"]["properties"]
    assert requests.get(f"{address}/health", timeout=60).json()["status"] == "healthy"


def test_its_tasks_are_the_problems(address):
    reply = requests.get(f"{address}/warpgym/splits", timeout=60).json()
    assert "all" in str(reply)


def test_an_unjudged_answer_is_an_error(faulty):
    with Running(faulty.url) as address, KernelEnv(base_url=address).sync() as env:
        env.reset(problem="softmax")
        with pytest.raises(RuntimeError, match="no reward: its verdict is unsupported"):
            env.step(KernelAction(answer=UNSUPPORTED))


def test_the_example(address, example, tmp_path):
    files = []
    for i, text in enumerate((WRONG, CORRECT)):
        files.append(tmp_path / f"{i}.md")
        files[-1].write_text(text)
    output = example("openenv/play.py", "--env", address, "softmax", *files)
    assert "0.md: wrong, 0.00 times as fast, reward 0.00" in output
    assert "1.md: passed, 2.01 times as fast, reward 2.25" in output


# --- what OpenEnv's command line reads (examples/openenv) ----------------------------------------


def test_the_manifest():
    from openenv.cli._cli_utils import validate_env_structure
    from openenv.validation.parsers.openenv_yaml import OpenEnvYamlParser

    assert validate_env_structure(DIRECTORY) in ([], ["Recommended directory missing: outputs/"])
    manifest = OpenEnvYamlParser().parse(DIRECTORY)
    assert manifest.name == "warpgym" and manifest.reward.range[0] == 0


def test_the_running_server(address):
    """As `openenv validate --url`."""
    from openenv.cli._validation import validate_running_environment

    report = validate_running_environment(address, timeout_s=60)
    assert report["passed"], report["summary"]


def test_the_application_of_the_image(url):
    """What the Dockerfile starts; without the judge's address it says so."""
    names = ("WARPGYM_CLIENT_URL", "WARPGYM_CLIENT_TOKEN")
    kept = {key: value for key, value in os.environ.items() if key not in names}
    command = [sys.executable, "-c", "from server.app import app; print(app.title)"]
    options = {"cwd": DIRECTORY, "capture_output": True, "text": True}
    run = subprocess.run(command, check=False, env=kept | {names[0]: url}, timeout=120, **options)
    assert run.returncode == 0, run.stderr
    run = subprocess.run(command, check=False, env=kept, timeout=120, **options)
    assert run.returncode == 1 and run.stderr.splitlines()[-1].startswith(f"{names[0]} is not set")
