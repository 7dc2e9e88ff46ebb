"""The gym as an environment for Gymnasium.

    import gymnasium, warpgym.env

    env = gymnasium.make("warpgym/Kernels-v0", url="http://gpu-sandbox:10907", problems=["softmax"])
    observation, info = env.reset(seed=7)
    observation, reward, terminated, truncated, info = env.step(model(info["messages"]))

An action is the model's answer, an observation what is new in the conversation: the task, then
feedback. Both are text. `info["messages"]` is the whole conversation to send. The class also works
without Gymnasium; then it has no spaces.
"""

from __future__ import annotations

import random
import string
from collections.abc import Sequence
from typing import Any, SupportsFloat

from warpgym.client import Episode
from warpgym.episodes import Conversation, Problem, facts_of, new_messages, pick

try:
    import gymnasium
except ImportError:
    gymnasium = None

ANSWER_CHARACTERS = 4 << 20  # the server takes 4 MiB
OBSERVATION_CHARACTERS = 1 << 20
SAMPLE_CHARACTERS = 200

if gymnasium:

    class AnyText(gymnasium.Space[str]):
        """Text of at most `max_length` characters of any kind; `spaces.Text` would have to list
        them. Samples are printable ASCII of at most 200 characters, hardly ever a kernel.

        Vector environments return tuples of it. AsyncVectorEnv requires shared_memory=False, and
        says so: Gymnasium has no shared memory for custom spaces, and that of `spaces.Text` can be
        read only once.
        """

        def __init__(self, max_length: int, seed: Any = None) -> None:
            self.max_length = max_length
            super().__init__(dtype=str, seed=seed)

        def contains(self, x: Any) -> bool:
            return isinstance(x, str) and len(x) <= self.max_length

        def sample(self, mask: Any = None, probability: Any = None) -> str:
            if mask is not None or probability is not None:
                raise ValueError("text of any characters has no mask and no probabilities")
            longest = min(self.max_length, SAMPLE_CHARACTERS)
            size = int(self.np_random.integers(0, longest + 1))
            return "".join(self.np_random.choice(list(string.printable), size=size))

        @property
        def is_np_flattenable(self) -> bool:
            return False

        def __repr__(self) -> str:
            return f"AnyText({self.max_length})"

        def __eq__(self, other: object) -> bool:
            return isinstance(other, AnyText) and other.max_length == self.max_length

        def __hash__(self) -> int:
            return hash((AnyText, self.max_length))


class WarpgymEnv(gymnasium.Env if gymnasium else object):
    """An episode is a conversation about one problem, a step one answer of it.

    `problems`: ids of the server's, or whole problems (`warpgym.client.torch_problem` …); None: all
    of the server's. `reset` takes `options={"problem": …}`, or draws one with its seed. `options`
    are those of `warpgym.episodes.Conversation`: of the client, and the configuration of episodes.

    Errors: what `warpgym.client` raises, and `warpgym.episodes.Unjudged` if an answer could not be
    judged: that turn is over and has no reward, and the next step is the next turn's.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 1}

    def __init__(
        self,
        url: str | None = None,
        *,
        problems: Sequence[Problem] | None = None,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        if render_mode not in (None, "ansi"):
            raise ValueError(f"unknown render_mode {render_mode!r}: only 'ansi' is supported")
        self.render_mode = render_mode
        self.gym = Conversation(url, **options)
        self.problems = None if problems is None else list(problems)
        if gymnasium:
            self.observation_space = AnyText(OBSERVATION_CHARACTERS)
            self.action_space = AnyText(ANSWER_CHARACTERS)
        else:
            self.np_random = random.Random()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        if gymnasium:
            super().reset(seed=seed)
        elif seed is not None:
            self.np_random = random.Random(seed)
        more = dict(options or {})
        problem = more.pop("problem", None)
        if problem is None:
            if self.problems is None:
                self.problems = self.gym.problems()
            problem = pick(self.problems, self.np_random)
        return observed(self.gym.reset(problem, **more))

    def step(self, action: str) -> tuple[str, SupportsFloat, bool, bool, dict[str, Any]]:
        episode = self.gym.step(action)
        step = episode.step
        observation, info = observed(episode)
        return observation, float(step.reward), step.terminated, step.truncated, info

    @property
    def episode(self) -> Episode | None:
        """Its latest state on the server, with its id, and its trajectory at the end. `info` has
        neither: the same seed and actions give the same `info`."""
        return self.gym.episode

    def render(self) -> str | None:
        """The conversation so far, as text."""
        if self.render_mode is None or self.gym.episode is None:
            return None
        messages = self.gym.episode.messages or new_messages(self.gym.episode)
        return "\n\n".join(f"[{one['role']}]\n{one['content']}" for one in messages)

    def close(self) -> None:
        self.gym.close()


def observed(episode: Episode) -> tuple[str, dict[str, Any]]:
    """The observation and `info`: the last turn's numbers and `status`, the `messages`, and at the
    end `returns`."""
    observation = "\n\n".join(one["content"] for one in new_messages(episode))
    info: dict[str, Any] = facts_of(episode)
    info["status"] = episode.step.status if episode.step else ""
    info["messages"] = episode.messages or []
    if episode.problem:
        info["problem"] = episode.problem.get("id", "")
    if episode.done:
        info["returns"] = episode.returns
    return observation[:OBSERVATION_CHARACTERS], info


if gymnasium and "warpgym/Kernels-v0" not in gymnasium.registry:
    gymnasium.register("warpgym/Kernels-v0", entry_point="warpgym.env:WarpgymEnv")
