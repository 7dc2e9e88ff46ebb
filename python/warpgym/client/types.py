"""What a server answers, with types. docs/reference/verdict.md says what the fields mean."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from .errors import ProtocolError
from .verdict import Verdict

ENDED = ("done", "cancelled")
STATES = ("queued", "running", *ENDED)


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """One evaluation as it was when the server answered."""

    id: str
    state: str
    outcome: str | None = None
    reason: str | None = None
    verdict: Verdict | None = None
    batch: str | None = None
    priority: str = "normal"
    attempt: int = 1
    worker: str | None = None
    created_at: str | None = None
    started_at: str | None = None
    ended_at: str | None = None
    timing_ms: dict[str, float] | None = None
    notes: dict[str, Any] | None = None
    submission: str | None = None

    @property
    def ended(self) -> bool:
        return self.state in ENDED

    @property
    def passed(self) -> bool:
        return self.outcome == "passed"

    @classmethod
    def of(cls, value: Any) -> Evaluation:
        """From a server's JSON; fields that this client does not know are left out."""
        if not isinstance(value, dict):
            raise ProtocolError("an evaluation that is no object")
        fields = known_fields(cls, value)
        if not isinstance(fields.get("id"), str) or fields.get("state") not in STATES:
            raise ProtocolError("an evaluation without id or state")
        verdict = fields.get("verdict")
        if verdict is not None and not isinstance(verdict, dict):
            raise ProtocolError("a verdict that is no object")
        return cls(**fields)


@dataclasses.dataclass(frozen=True)
class Batch:
    """Evaluations that were submitted together; `ids` in the order of their requests."""

    id: str
    ids: tuple[str, ...]
    states: dict[str, int]
    outcomes: dict[str, int]

    @property
    def ended(self) -> bool:
        return not self.states.get("queued") and not self.states.get("running")

    @classmethod
    def of(cls, value: Any) -> Batch:
        try:
            ids = tuple(str(item["id"]) for item in value.get("evaluations") or [])
            return cls(str(value["id"]), ids, dict(value["states"]), dict(value["outcomes"]))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ProtocolError(f"a batch that is none: {error!r}") from None


@dataclasses.dataclass(frozen=True)
class Event:
    """One server-sent event: "state" at each change, "verdict" at the end."""

    name: str
    data: Any
    id: str | None = None


@dataclasses.dataclass(frozen=True)
class Turn:
    """A turn of an episode that is over. `status` is the verdict's, or `no_code`; `excluded`: the
    verdict says nothing of the answer, and `reward` means nothing then; `speedup`: times as fast as
    the reference, 0 where nothing was timed; `evaluation`: its id."""

    turn: int
    reward: float
    terminated: bool
    truncated: bool
    status: str
    excluded: bool = False
    format_ok: bool = False
    compiled: bool = False
    correct: bool = False
    speedup: float = 0.0
    feedback: str = ""
    evaluation: str = ""
    reward_parts: dict[str, float] = dataclasses.field(default_factory=dict)
    verdict: Verdict | None = None


@dataclasses.dataclass(frozen=True)
class Episode:
    """A conversation about a problem as it was when the server answered (docs/guide/gym.md).

    `messages` are those of the open turn, each {"role", "content"}, `tokens` how many they are by
    estimate; `step` is the turn that ended last; `returns` (one number a turn) and `trajectory`
    (docs/reference/trajectories.md) come when the state is `done`."""

    id: str
    state: str
    turn: int
    turns: int
    messages: list[dict[str, str]] | None = None
    tokens: int = 0
    step: Turn | None = None
    problem: dict[str, str] = dataclasses.field(default_factory=dict)
    end: str | None = None
    returns: list[float] | None = None
    trajectory: dict[str, Any] | None = None
    expires_at: str | None = None
    notes: dict[str, Any] | None = None

    @property
    def done(self) -> bool:
        return self.state == "done"

    @classmethod
    def of(cls, value: Any) -> Episode:
        """From a server's JSON; fields that this client does not know are left out."""
        try:
            fields = known_fields(cls, value)
            observation = value.get("observation") or {}
            fields["messages"] = observation.get("messages")
            fields["tokens"] = observation.get("tokens", 0)
            if fields.get("step") is not None:
                fields["step"] = Turn(**known_fields(Turn, fields["step"]))
            return cls(**fields)
        except (AttributeError, TypeError) as error:
            raise ProtocolError(f"an episode that is none: {error}") from None


def known_fields(cls: type, value: Mapping[str, Any]) -> dict[str, Any]:
    names = {field.name for field in dataclasses.fields(cls)}
    return {key: item for key, item in value.items() if key in names}
