"""Client of a warpgym server. Needs the standard library alone, and no PyTorch.

    from warpgym.client import Client

    with Client("http://gpu-sandbox:10907") as gym:
        verdict = gym.evaluate("softmax", source)
        print(verdict["status"], verdict["timing"])

`AsyncClient` has the same methods as coroutines. Both retry while a server is away or busy. Every
evaluation has an id before it is sent, so a repeated submission is judged once.
"""

from .aio import AsyncClient
from .errors import Error, NotFound, ProtocolError, Refused, Unreachable
from .requests import (
    answer_request,
    episode_request,
    native_problem,
    request,
    simple_problem,
    torch_problem,
)
from .sync import Client
from .types import Batch, Episode, Evaluation, Event, Turn, Verdict

__all__ = [
    "AsyncClient",
    "Batch",
    "Client",
    "Episode",
    "Error",
    "Evaluation",
    "Event",
    "NotFound",
    "ProtocolError",
    "Refused",
    "Turn",
    "Unreachable",
    "Verdict",
    "answer_request",
    "episode_request",
    "native_problem",
    "request",
    "simple_problem",
    "torch_problem",
]
