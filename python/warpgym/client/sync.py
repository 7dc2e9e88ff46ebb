"""The blocking client. Any number of threads may share one: each call takes a connection from a
pool and returns it."""

from __future__ import annotations

import http.client
import ssl
import time
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Mapping
from typing import Any, TypeVar, cast

from . import steps
from .errors import ProtocolError, Unreachable
from .requests import answer_request, episode_request, request
from .steps import Answer, Call, Lost, Options, tls_of
from .types import Batch, Episode, Evaluation, Event, Verdict

T = TypeVar("T")


class Client:
    """`url` and `token` default to WARPGYM_CLIENT_URL and WARPGYM_CLIENT_TOKEN; `retry_budget_s` is
    how long a call retries while the server is away or busy."""

    def __init__(self, url: str | None = None, token: str | None = None, **options: Any) -> None:
        self.options = Options(url, token, **options)
        self._idle: deque[http.client.HTTPConnection] = deque()
        self._tls = tls_of(self.options)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *ignored: object) -> None:
        self.close()

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    # --- evaluations -----------------------------------------------------------------------------

    def evaluate(
        self,
        problem: str | Mapping[str, Any],
        candidate: str | Mapping[str, Any],
        *,
        wait_timeout_s: float | None = None,
        **more: Any,
    ) -> Verdict:
        """The verdict of one candidate. `more` as in `request`. TimeoutError if there is none in
        time: the evaluation continues on the server."""
        item = request(problem, candidate, **more)
        ended = self._run(steps.evaluate(self.options, item, wait_timeout_s))
        return cast(Verdict, steps.verdict_of(ended))

    def submit(
        self, problem: str | Mapping[str, Any], candidate: str | Mapping[str, Any], **more: Any
    ) -> Evaluation:
        """As `evaluate`, without waiting."""
        return self._run(steps.submit(self.options, request(problem, candidate, **more)))

    def get(self, id: str) -> Evaluation:
        return self._run(steps.get(self.options, id))

    def wait(self, id: str, timeout_s: float | None = None) -> Evaluation:
        """Until it has ended. TimeoutError."""
        return self._run(steps.wait(self.options, id, timeout_s))

    def cancel(self, id: str) -> None:
        self._run(steps.cancel(self.options, "evaluations", id))

    def evaluations(
        self,
        *,
        state: str | None = None,
        batch: str | None = None,
        limit: int | None = None,
        verdicts: bool = False,
    ) -> Iterator[Evaluation]:
        """The newest first; further pages are fetched as the caller iterates."""
        before, left = None, limit
        while left is None or left > 0:
            size = 100 if left is None else min(100, left)
            query = {"state": state, "batch": batch, "before": before, "limit": size}
            query["verdict"] = "true" if verdicts else "false"
            found, before = self._run(steps.page(self.options, query))
            yield from found
            left = None if left is None else left - len(found)
            if not found or not before:
                return

    # --- batches ---------------------------------------------------------------------------------

    def batch(
        self, requests: Iterable[Mapping[str, Any]], timeout_s: float | None = None
    ) -> list[Evaluation]:
        """Evaluates all, in the order of their requests (`request`). A failure cancels the
        evaluations that have not ended."""
        return self._run(steps.evaluate_batch(self.options, [*requests], timeout_s))

    def submit_batch(self, requests: Iterable[Mapping[str, Any]], id: str | None = None) -> Batch:
        """At most 1000, all or none."""
        return self._run(steps.submit_batch(self.options, [dict(one) for one in requests], id))

    def get_batch(self, id: str, wait_s: float = 0.0) -> Batch:
        return self._run(steps.get_batch(self.options, id, wait_s))

    def cancel_batch(self, id: str) -> None:
        self._run(steps.cancel(self.options, "batches", id))

    # --- episodes --------------------------------------------------------------------------------

    def create_episode(self, problem: str | Mapping[str, Any], **more: Any) -> Episode:
        """The messages of its first turn. `more` as in `episode_request`."""
        return self._run(steps.create_episode(self.options, episode_request(problem, **more)))

    def step_episode(
        self,
        id: str,
        turn: int,
        answer: str | bytes | None,
        *,
        timeout_s: float | None = None,
        **more: Any,
    ) -> Episode:
        """The judged turn: its `step`, and the messages of the next. `more` as in `answer_request`.
        Retries after lost connections. TimeoutError if there is no verdict in time: repeat the
        call to continue waiting. Refused (409) if the turn has another answer."""
        body = answer_request(turn, answer, **more)
        return self._run(steps.answer_episode(self.options, id, body, timeout_s))

    def get_episode(self, id: str, wait_s: float = 0.0) -> Episode:
        return self._run(steps.get_episode(self.options, id, wait_s))

    def delete_episode(self, id: str) -> None:
        self._run(steps.delete_episode(self.options, id))

    # --- the server ------------------------------------------------------------------------------

    def events(self, id: str | None = None, *, batch: str | None = None) -> Iterator[Event]:
        """Of one evaluation or batch until it has ended, or of all. A lost connection is not
        resumed: Unreachable."""
        connection = self._open(None)
        try:
            target = self.options.prefix + steps.events_target(id, batch)
            headers = self.options.headers() | {"Accept": "text/event-stream"}
            connection.request("GET", target, headers=headers)
            response = connection.getresponse()
            if response.status != 200:
                raise steps.refusal(self._read(response))
            reader = steps.EventReader()
            while line := response.readline(steps.LINE_BYTES):
                if not line.endswith(b"\n"):
                    raise ProtocolError("an event is cut short")
                event = reader.feed(line.decode("utf-8", "replace").rstrip("\r\n"))
                if event:
                    yield event
        except (OSError, Lost, http.client.HTTPException) as error:
            raise Unreachable(f"{self.options.url}: {error}") from error
        finally:
            connection.close()

    def problems(self) -> Any:
        return self._run(steps.asked(self.options, "GET", "/v1/problems"))

    def workers(self) -> Any:
        return self._run(steps.asked(self.options, "GET", "/v1/workers"))

    def stats(self) -> Any:
        return self._run(steps.asked(self.options, "GET", "/v1/stats"))

    # --- below -----------------------------------------------------------------------------------

    def _run(self, operation: Generator[steps.Step, Any, T]) -> T:
        try:
            step = next(operation)
            while True:
                if isinstance(step, Call):
                    try:
                        answer = self._call(step)
                    except Lost as lost:
                        step = operation.throw(lost)
                    else:
                        step = operation.send(answer)
                else:
                    time.sleep(step)
                    step = operation.send(None)
        except StopIteration as stop:
            return cast(T, stop.value)

    def _open(self, timeout_s: float | None) -> http.client.HTTPConnection:
        options = self.options
        made: http.client.HTTPConnection
        if options.secure:
            made = http.client.HTTPSConnection(
                options.host, options.port, timeout=options.connect_timeout_s, context=self._tls
            )
        else:
            made = http.client.HTTPConnection(
                options.host, options.port, timeout=options.connect_timeout_s
            )
        try:
            made.connect()
        except ssl.SSLCertVerificationError as error:
            raise Unreachable(f"{options.url}: {error}") from error
        except OSError as error:
            raise Lost(str(error)) from error
        if made.sock:
            made.sock.settimeout(timeout_s)
        return made

    def _read(self, response: http.client.HTTPResponse) -> Answer:
        body = response.read(steps.ANSWER_BYTES + 1)
        if len(body) > steps.ANSWER_BYTES:
            raise ProtocolError(f"{self.options.url}: the answer exceeds 64 MiB")
        if response.length:  # read() reports a short body only here
            raise Lost("the server closed the connection")
        headers = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, headers, body)

    def _call(self, call: Call) -> Answer:
        timeout_s = self.options.timeout_s + call.wait_s
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._open(timeout_s)
        headers = self.options.headers()
        if call.body is not None:
            headers["Content-Type"] = "application/json"
        try:
            if connection.sock:
                connection.sock.settimeout(timeout_s)
            target = self.options.prefix + call.target
            connection.request(call.method, target, body=call.body, headers=headers)
            response = connection.getresponse()
            answer = self._read(response)
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise Lost(str(error) or type(error).__name__) from error
        except BaseException:
            connection.close()
            raise
        if response.will_close:
            connection.close()
        else:
            self._idle.append(connection)
        return answer
