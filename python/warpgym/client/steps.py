"""The operations of both clients, without a socket: each operation is a generator of steps.

A step is a Call or a pause in seconds. The client answers a Call with an Answer, or throws Lost
into the generator. So retries, long polls and the reading of answers are written once.
"""

from __future__ import annotations

import json
import os
import random
import ssl
import time
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import quote, urlencode, urlsplit

from .errors import Error, NotFound, ProtocolError, Refused, Unreachable
from .requests import draw_id, with_id
from .types import Batch, Episode, Evaluation, Event

STANDARD_URL = "http://127.0.0.1:10907"
ANSWER_BYTES = 64 << 20
LINE_BYTES = 32 << 20  # of a stream of events: a verdict is one line
POLL_S = 20.0
HASTY_S = 0.5  # the pause between requests to a server that answers long polls at once
BATCH_JOBS = 100
BATCH_BYTES = 8 << 20
BUSY = (429, 502, 503, 504)
PAUSE_S, PAUSE_MAX_S = 0.2, 5.0
RETRY_AFTER_MAX_S = 3600.0

T = TypeVar("T")


@dataclass(frozen=True)
class Call:
    method: str
    target: str
    body: bytes | None = None
    wait_s: float = 0.0  # how long the server may hold the request


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]  # names in lower case
    body: bytes


class Lost(Exception):
    """The connection could not be made, or ended before the answer did."""


Step = Call | float
Steps = Generator[Step, Any, T]


@dataclass
class Options:
    """The server's address, and how long to wait for it."""

    url: str | None = None
    token: str | None = field(default=None, repr=False)
    timeout_s: float = 60.0
    connect_timeout_s: float = 5.0
    retry_budget_s: float = 120.0
    ca_file: str | None = None

    def __post_init__(self) -> None:
        environment = os.environ
        self.url = (self.url or environment.get("WARPGYM_CLIENT_URL") or STANDARD_URL).rstrip("/")
        if self.token is None:
            self.token = environment.get("WARPGYM_CLIENT_TOKEN") or environment.get("WARPGYM_TOKEN")
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{self.url!r} is not a server's address: give http://HOST:PORT")
        if parts.query or parts.fragment or parts.username:
            raise ValueError("the server's address holds a query or a user")
        if self.token and any(byte in self.token for byte in "\r\n"):
            raise ValueError("the token has more than one line")
        self.secure, self.host, self.prefix = parts.scheme == "https", parts.hostname, parts.path
        self.port = parts.port or (443 if self.secure else 80)

    def headers(self) -> dict[str, str]:
        made = {"Accept": "application/json", "User-Agent": "warpgym-python"}
        if self.token:
            made["Authorization"] = f"Bearer {self.token}"
        return made


def tls_of(options: Options) -> ssl.SSLContext | None:
    """None without TLS: reading all of the system's certificates takes longer than a call."""
    return ssl.create_default_context(cafile=options.ca_file) if options.secure else None


# --- one call ------------------------------------------------------------------------------------


def retry_after_s(answer: Answer) -> float:
    try:
        return min(max(0.0, float(answer.headers.get("retry-after", 0))), RETRY_AFTER_MAX_S)
    except ValueError:
        return 0.0


def refusal(answer: Answer) -> Refused:
    code, message = "", ""
    try:
        error = json.loads(answer.body)["error"]
        code, message = str(error.get("code", "")), str(error.get("message", ""))
    except (ValueError, KeyError, TypeError, AttributeError):
        pass
    if not message and 300 <= answer.status < 400:
        message = "the server redirects to another address"
    made = NotFound if answer.status == 404 else Refused
    return made(answer.status, code, message or "the server refuses")


def answered(options: Options, call: Call) -> Steps[Answer]:
    """The answer of a 2xx; retries while the server is away or busy, within the retry budget."""
    failing_since = None
    for tries in range(1, 1 << 30):
        answer, lost = None, None
        try:
            answer = yield call
        except Lost as error:
            lost = error
        if answer and answer.status not in BUSY:
            if 200 <= answer.status < 300:
                return answer
            raise refusal(answer)
        failing_since = failing_since or time.monotonic()
        longest = min(PAUSE_S * 2 ** min(tries - 1, 10), PAUSE_MAX_S)
        pause = max(random.uniform(longest / 2, longest), retry_after_s(answer) if answer else 0.0)
        if time.monotonic() - failing_since + pause > options.retry_budget_s:
            if answer:
                raise refusal(answer)
            raise Unreachable(f"{options.url}: {lost}")
        yield pause
    raise AssertionError("unreachable")


def asked(
    options: Options, method: str, target: str, body: Any = None, wait_s: float = 0.0
) -> Steps[Any]:
    text = None if body is None else json.dumps(body, separators=(",", ":")).encode()
    answer = yield from answered(options, Call(method, target, text, wait_s))
    try:
        return json.loads(answer.body)
    except ValueError as error:
        raise ProtocolError(f"{options.url}: the answer is not JSON: {error}") from None


# --- evaluations ---------------------------------------------------------------------------------


def path_of(kind: str, name: str) -> str:
    if name in ("", ".", ".."):
        raise ValueError(f"{name!r} is not an id")
    return f"/v1/{kind}/{quote(name, safe='')}"


def submit(options: Options, item: Mapping[str, Any], wait_s: float = 0.0) -> Steps[Evaluation]:
    target = "/v1/evaluations" + (f"?wait_s={int(wait_s)}" if wait_s >= 1 else "")
    return Evaluation.of((yield from asked(options, "POST", target, with_id(item), wait_s)))


def get(options: Options, name: str, wait_s: float = 0.0) -> Steps[Evaluation]:
    target = path_of("evaluations", name) + (f"?wait_s={int(wait_s)}" if wait_s >= 1 else "")
    return Evaluation.of((yield from asked(options, "GET", target, None, wait_s)))


def wait(options: Options, name: str, timeout_s: float | None) -> Steps[Evaluation]:
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    while True:
        begun = time.monotonic()
        left = POLL_S if deadline is None else max(0.0, min(POLL_S, deadline - begun))
        evaluation = yield from get(options, name, max(1.0, left) if left > 0 else 0.0)
        if evaluation.ended:
            return evaluation
        now = time.monotonic()
        if deadline is not None and now >= deadline:
            raise TimeoutError(f"evaluation {name} is still {evaluation.state}")
        if now - begun < HASTY_S:
            yield HASTY_S


def evaluate(
    options: Options, item: Mapping[str, Any], timeout_s: float | None
) -> Steps[Evaluation]:
    begun = time.monotonic()
    first = POLL_S if timeout_s is None else min(POLL_S, timeout_s)
    evaluation = yield from submit(options, item, first)
    if evaluation.ended:
        return evaluation
    left = None if timeout_s is None else max(0.0, timeout_s - (time.monotonic() - begun))
    return (yield from wait(options, evaluation.id, left))


def verdict_of(evaluation: Evaluation) -> Any:
    if evaluation.verdict is None:
        why = evaluation.reason or "the server sent no verdict"
        raise Error(f"evaluation {evaluation.id}: {evaluation.outcome or evaluation.state}: {why}")
    return evaluation.verdict


def cancel(options: Options, kind: str, name: str) -> Steps[None]:
    yield from asked(options, "DELETE", path_of(kind, name))


def page(options: Options, query: Mapping[str, Any]) -> Steps[tuple[list[Evaluation], int | None]]:
    words = {key: value for key, value in query.items() if value is not None}
    listing = yield from asked(options, "GET", f"/v1/evaluations?{urlencode(words)}")
    if not isinstance(listing, dict) or not isinstance(listing.get("evaluations"), list):
        raise ProtocolError(f"{options.url}: the answer is not a list of evaluations")
    return [Evaluation.of(one) for one in listing["evaluations"]], listing.get("before")


# --- batches -------------------------------------------------------------------------------------


def chunks(items: Iterable[Mapping[str, Any]]) -> Generator[list[dict[str, Any]], None, None]:
    """Splits evaluations into batches within the limits of a request."""
    chunk: list[dict[str, Any]] = []
    size = 0
    for item in items:
        made = with_id(item)
        more = len(json.dumps(made))
        if chunk and (len(chunk) == BATCH_JOBS or size + more > BATCH_BYTES):
            yield chunk
            chunk, size = [], 0
        chunk.append(made)
        size += more
    if chunk:
        yield chunk


def submit_batch(options: Options, items: list[dict[str, Any]], name: str | None) -> Steps[Batch]:
    body = {"id": name or draw_id(), "evaluations": [with_id(item) for item in items]}
    batch = Batch.of((yield from asked(options, "POST", "/v1/batches", body)))
    return Batch(
        batch.id, tuple(one["id"] for one in body["evaluations"]), batch.states, batch.outcomes
    )


def get_batch(options: Options, name: str, wait_s: float = 0.0) -> Steps[Batch]:
    target = path_of("batches", name) + (f"?wait_s={int(wait_s)}" if wait_s >= 1 else "")
    return Batch.of((yield from asked(options, "GET", target, None, wait_s)))


def evaluate_batch(
    options: Options, items: list[Mapping[str, Any]], timeout_s: float | None
) -> Steps[list[Evaluation]]:
    """Submits all, then waits for them in order; after a failure, cancels the rest."""
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    batches: list[Batch] = []
    found: list[Evaluation] = []
    try:
        for chunk in chunks(items):
            batches.append((yield from submit_batch(options, chunk, None)))
        for name in (name for batch in batches for name in batch.ids):
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            found.append((yield from wait(options, name, left)))
    except (Error, TimeoutError):
        for batch in batches:
            try:
                yield from cancel(options, "batches", batch.id)
            except Error:
                break  # the caller gets the first error
        raise
    return found


# --- episodes ------------------------------------------------------------------------------------


def create_episode(options: Options, item: Mapping[str, Any]) -> Steps[Episode]:
    return Episode.of((yield from asked(options, "POST", "/v1/episodes", item)))


def delete_episode(options: Options, name: str) -> Steps[None]:
    yield from answered(options, Call("DELETE", path_of("episodes", name)))


def get_episode(options: Options, name: str, wait_s: float = 0.0) -> Steps[Episode]:
    target = path_of("episodes", name) + (f"?wait_s={int(wait_s)}" if wait_s >= 1 else "")
    return Episode.of((yield from asked(options, "GET", target, None, wait_s)))


def answer_episode(
    options: Options, name: str, body: Mapping[str, Any], timeout_s: float | None
) -> Steps[Episode]:
    """Repeats the step until the answer has its verdict: the server judges it once."""
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    while True:
        begun = time.monotonic()
        left = POLL_S if deadline is None else max(0.0, min(POLL_S, deadline - begun))
        target = f"{path_of('episodes', name)}/step?wait_s={int(left)}"
        episode = Episode.of((yield from asked(options, "POST", target, body, left)))
        if episode.step is not None and episode.step.turn == body["turn"]:
            return episode
        now = time.monotonic()
        if deadline is not None and now >= deadline:
            raise TimeoutError(f"turn {body['turn']} of episode {name} is still being judged")
        if now - begun < HASTY_S:
            yield HASTY_S


# --- events --------------------------------------------------------------------------------------


class EventReader:
    """Converts lines of a text/event-stream to events."""

    def __init__(self) -> None:
        self.name, self.id, self.data = "", None, []

    def feed(self, line: str) -> Event | None:
        if line == "":
            return self.finish()
        key, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if key == "event":
            self.name = value
        elif key == "id":
            self.id = value
        elif key == "data":
            self.data.append(value)
        return None

    def finish(self) -> Event | None:
        name, data = self.name or "message", self.data
        self.name, self.data = "", []
        if not data:
            return None
        try:
            return Event(name, json.loads("\n".join(data)), self.id)
        except ValueError as error:
            raise ProtocolError(f"an event is not JSON: {error}") from None


def events_target(name: str | None, batch: str | None) -> str:
    if name and batch:
        raise ValueError("give the id of an evaluation or of a batch")
    if batch:
        return path_of("batches", batch) + "/events"
    return path_of("evaluations", name) + "/events" if name else "/v1/events"
