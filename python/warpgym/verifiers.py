"""The gym as an environment of verifiers (`verifiers.v1`, from 0.4 on).

    vf-eval warpgym-kernels --env.taskset.url http://gpu-sandbox:10907 --model …

    import verifiers.v1 as vf
    from warpgym.verifiers import load_environment

    env = load_environment(url="http://gpu-sandbox:10907", problems=["softmax"], turns=4)

A task is a problem of the server, an episode its conversation: `KernelEnv` passes the gym's
messages to the model, its answers to the gym, and the feedback back. The reward is the return of
the first turn (`gamma`-discounted, docs/guide/gym.md), the metrics are those of the best turn.

The conversation only grows: text that the server's `prompt.token_budget` would omit stays in it. An
unreachable judge, or an answer that could not be judged, makes the episode an error (`episode.ok`
is false), never a reward of 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import openai
import verifiers.v1 as vf
from pydantic import Field

from warpgym.client import Client, Episode
from warpgym.conflicts import explained
from warpgym.episodes import AsyncConversation, new_messages, problem_ids

TASKSET = "warpgym-kernels"  # python/warpgym_kernels.py: verifiers imports that module by this id


class KernelTasksetConfig(vf.TasksetConfig):
    """The server's address, and the configuration of episodes (docs/guide/gym.md); None: the
    server's setting. The token comes from WARPGYM_CLIENT_TOKEN, so that no record holds it."""

    url: str | None = None
    problems: list[str] = Field(default_factory=list)
    """Ids of the server's problems; empty: all that the language solves."""
    turns: int | None = None
    language: str | None = None
    reward: str | None = None
    gamma: float = 0.4
    stop_speedup: float | None = None
    retry_budget_s: float = 600.0

    def episode(self) -> dict[str, Any]:
        names = ("turns", "language", "reward", "gamma", "stop_speedup", "retry_budget_s")
        return {name: getattr(self, name) for name in names}


class KernelData(vf.TaskData):
    problem: str
    """Its id on the server."""


class KernelTask(vf.Task[KernelData]):
    @property
    def key(self) -> str:
        return f"warpgym/{self.data.problem}"

    @vf.reward
    async def first_return(self, trace: vf.Trace) -> float:
        """The discounted sum over all judged turns."""
        info = trace.info["warpgym"]
        return sum(info["gamma"] ** i * reward for i, reward in enumerate(info["rewards"]))

    @vf.metric
    async def best_turn(self, trace: vf.Trace) -> dict[str, float]:
        turns = trace.info["warpgym"]["turns"]
        return {
            "correct": max((float(turn["correct"]) for turn in turns), default=0.0),
            "compiled": max((float(turn["compiled"]) for turn in turns), default=0.0),
            "speedup": max((turn["speedup"] for turn in turns if turn["correct"]), default=0.0),
            "judged_turns": float(len(turns)),
        }


class KernelTaskset(vf.Taskset[KernelTask, KernelTasksetConfig]):
    def load(self) -> Iterable[KernelTask]:
        config = self.config
        with Client(config.url, retry_budget_s=config.retry_budget_s) as client:
            for one in config.problems or problem_ids(client.problems(), config.language):
                yield KernelTask(KernelData(name=one, problem=one), config.task)


class ChatHarness(vf.Harness[vf.HarnessConfig]):
    """Makes one request to the model for each turn, in this process: the model has no tools."""

    APPENDS_SYSTEM_PROMPT = True
    SUPPORTS_RESUME = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(  # noqa: PLR0917 - the signature is verifiers'
        self,
        ctx: vf.ModelContext,
        trace: vf.Trace,
        runtime: vf.Runtime,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: vf.TaskData,
    ) -> vf.ProgramResult:
        system, prompt = self.resolve_prompt(data)
        messages = [{"role": "system", "content": system}] if system else []
        messages += [one.model_dump(exclude_none=True) for one in prompt or []]
        async with openai.AsyncOpenAI(base_url=endpoint, api_key=secret) as model:
            await model.chat.completions.create(model=ctx.model, messages=messages)
        return vf.ProgramResult(0, "", "")


class KernelEnvConfig(vf.EnvConfig):
    agent: vf.AgentConfig = vf.AgentConfig(runtime=vf.SubprocessConfig())
    """The model. Candidates run on the server, so no sandbox is needed here."""


class KernelEnv(vf.Env[KernelEnvConfig]):
    async def run(self, task: KernelTask, agents: vf.Agents) -> None:
        config: KernelTasksetConfig = self.taskset.config
        async with (
            AsyncConversation(config.url, **config.episode()) as gym,
            agents.agent.interaction(task) as chat,
        ):
            info = {"gamma": config.gamma, "rewards": [], "turns": []}
            chat.trace.info["warpgym"] = info
            episode = await gym.reset(task.data.problem)
            while not episode.done:
                segment = await chat.turn(messages_for(episode))
                if segment.terminated:
                    break
                episode = await gym.step(segment.last_reply, model=agents.agent.ctx.model)
                note(episode, info)


def messages_for(episode: Episode) -> list[dict[str, str]]:
    """A style that rewrites the conversation each turn (`kevin`) repeats its system message,
    too."""
    messages = new_messages(episode)
    return [one for one in messages if one["role"] != "system"] if episode.turn else messages


def note(episode: Episode, info: dict[str, Any]) -> None:
    """Adds the turn to the trace, for the reward and the metrics."""
    step = episode.step
    info["episode"] = episode.id
    info["rewards"].append(step.reward)
    turn = {"status": step.status, "compiled": step.compiled, "correct": step.correct}
    info["turns"].append(turn | {"speedup": step.speedup, "feedback": step.feedback})


def load_environment(**taskset: Any) -> KernelEnv:
    """The environment of a KernelTasksetConfig with these fields."""
    try:
        return vf.load_environment(vf.resolve_env_config({"taskset": taskset | {"id": TASKSET}}))
    except ImportError as error:
        raise explained(error, "verifiers") from error
