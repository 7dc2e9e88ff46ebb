"""The asyncio client, over streams of the standard library."""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import AsyncIterator, Generator, Iterable, Mapping
from typing import Any, TypeVar, cast

from . import steps
from .errors import ProtocolError, Unreachable
from .requests import answer_request, episode_request, request
from .steps import Answer, Call, Lost, Options, tls_of
from .types import Batch, Episode, Evaluation, Event, Verdict

T = TypeVar("T")
HEADER_BYTES = 64 << 10


class Connection:
    """One HTTP/1.1 connection, one call at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.lasts = True

    def close(self) -> None:
        self.writer.close()

    async def send(self, options: Options, call: Call, accept: str | None = None) -> None:
        headers = options.headers() | {"Host": f"{options.host}:{options.port}"}
        if accept:
            headers["Accept"] = accept
        if call.body is not None:
            headers["Content-Type"] = "application/json"
        if call.body is not None or call.method == "POST":
            headers["Content-Length"] = str(len(call.body or b""))
        lines = [f"{call.method} {options.prefix}{call.target} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self.writer.write("\r\n".join([*lines, "", ""]).encode("latin-1") + (call.body or b""))
        await self.writer.drain()

    async def line(self) -> bytes:
        line = await self.reader.readline()
        if not line.endswith(b"\n"):
            raise Lost("the server closed the connection")
        return line.rstrip(b"\r\n")

    async def head(self) -> tuple[int, dict[str, str]]:
        while True:
            words = (await self.line()).split(None, 2)
            if len(words) < 2 or not words[0].startswith(b"HTTP/1.") or not words[1].isdigit():
                raise ProtocolError("the answer is not HTTP")
            status, headers, size = int(words[1]), {}, 0
            while line := await self.line():
                size += len(line)
                if size > HEADER_BYTES:
                    raise ProtocolError("the answer's header is too long")
                name, _, value = line.decode("latin-1").partition(":")
                headers[name.strip().lower()] = value.strip()
            if status >= 200:
                break
        if words[0] == b"HTTP/1.0" or headers.get("connection", "").lower() == "close":
            self.lasts = False
        return status, headers

    async def chunks(self, headers: Mapping[str, str], status: int) -> AsyncIterator[bytes]:
        """The body, piece by piece."""
        if status in (204, 304):
            return
        if "chunked" in headers.get("transfer-encoding", "").lower():
            while size := self.number((await self.line()).split(b";")[0], 16):
                yield await self.reader.readexactly(size)
                await self.line()
            while await self.line():
                pass
        elif "content-length" in headers:
            left = self.number(headers["content-length"].encode(), 10)
            if left > 0:
                yield await self.reader.readexactly(left)
        else:
            self.lasts = False
            while piece := await self.reader.read(1 << 16):
                yield piece

    @staticmethod
    def number(text: bytes, base: int) -> int:
        try:
            value = int(text.strip(), base)
        except ValueError:
            raise ProtocolError("the answer's length is not a number") from None
        if not 0 <= value <= steps.ANSWER_BYTES:
            raise ProtocolError("the answer exceeds 64 MiB")
        return value

    async def answer(self) -> Answer:
        status, headers = await self.head()
        body = bytearray()
        async for piece in self.chunks(headers, status):
            body += piece
            if len(body) > steps.ANSWER_BYTES:
                raise ProtocolError("the answer exceeds 64 MiB")
        return Answer(status, headers, bytes(body))


class AsyncClient:
    """As `Client`, for one event loop; each call takes a connection from a pool and returns it."""

    def __init__(self, url: str | None = None, token: str | None = None, **options: Any) -> None:
        self.options = Options(url, token, **options)
        self._idle: deque[Connection] = deque()
        self._tls = tls_of(self.options)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *ignored: object) -> None:
        await self.close()

    async def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    # --- evaluations -----------------------------------------------------------------------------

    async def evaluate(
        self,
        problem: str | Mapping[str, Any],
        candidate: str | Mapping[str, Any],
        *,
        wait_timeout_s: float | None = None,
        **more: Any,
    ) -> Verdict:
        item = request(problem, candidate, **more)
        ended = await self._run(steps.evaluate(self.options, item, wait_timeout_s))
        return cast(Verdict, steps.verdict_of(ended))

    async def submit(
        self, problem: str | Mapping[str, Any], candidate: str | Mapping[str, Any], **more: Any
    ) -> Evaluation:
        return await self._run(steps.submit(self.options, request(problem, candidate, **more)))

    async def get(self, id: str) -> Evaluation:
        return await self._run(steps.get(self.options, id))

    async def wait(self, id: str, timeout_s: float | None = None) -> Evaluation:
        return await self._run(steps.wait(self.options, id, timeout_s))

    async def cancel(self, id: str) -> None:
        await self._run(steps.cancel(self.options, "evaluations", id))

    async def evaluations(
        self,
        *,
        state: str | None = None,
        batch: str | None = None,
        limit: int | None = None,
        verdicts: bool = False,
    ) -> AsyncIterator[Evaluation]:
        before, left = None, limit
        while left is None or left > 0:
            size = 100 if left is None else min(100, left)
            query = {"state": state, "batch": batch, "before": before, "limit": size}
            query["verdict"] = "true" if verdicts else "false"
            found, before = await self._run(steps.page(self.options, query))
            for one in found:
                yield one
            left = None if left is None else left - len(found)
            if not found or not before:
                return

    # --- batches ---------------------------------------------------------------------------------

    async def batch(
        self, requests: Iterable[Mapping[str, Any]], timeout_s: float | None = None
    ) -> list[Evaluation]:
        return await self._run(steps.evaluate_batch(self.options, [*requests], timeout_s))

    async def submit_batch(
        self, requests: Iterable[Mapping[str, Any]], id: str | None = None
    ) -> Batch:
        items = [dict(one) for one in requests]
        return await self._run(steps.submit_batch(self.options, items, id))

    async def get_batch(self, id: str, wait_s: float = 0.0) -> Batch:
        return await self._run(steps.get_batch(self.options, id, wait_s))

    async def cancel_batch(self, id: str) -> None:
        await self._run(steps.cancel(self.options, "batches", id))

    # --- episodes --------------------------------------------------------------------------------

    async def create_episode(self, problem: str | Mapping[str, Any], **more: Any) -> Episode:
        return await self._run(steps.create_episode(self.options, episode_request(problem, **more)))

    async def step_episode(
        self,
        id: str,
        turn: int,
        answer: str | bytes | None,
        *,
        timeout_s: float | None = None,
        **more: Any,
    ) -> Episode:
        body = answer_request(turn, answer, **more)
        return await self._run(steps.answer_episode(self.options, id, body, timeout_s))

    async def get_episode(self, id: str, wait_s: float = 0.0) -> Episode:
        return await self._run(steps.get_episode(self.options, id, wait_s))

    async def delete_episode(self, id: str) -> None:
        await self._run(steps.delete_episode(self.options, id))

    # --- the server ------------------------------------------------------------------------------

    async def events(
        self, id: str | None = None, *, batch: str | None = None
    ) -> AsyncIterator[Event]:
        call = Call("GET", steps.events_target(id, batch))
        connection = await self._open()
        try:
            await connection.send(self.options, call, accept="text/event-stream")
            status, headers = await connection.head()
            if status != 200:
                raise steps.refusal(Answer(status, headers, b""))
            reader, rest = steps.EventReader(), b""
            async for piece in connection.chunks(headers, status):
                *lines, rest = (rest + piece).split(b"\n")
                if len(rest) > steps.LINE_BYTES:
                    raise ProtocolError("an event is too long")
                for line in lines:
                    event = reader.feed(line.decode("utf-8", "replace").rstrip("\r"))
                    if event:
                        yield event
        except (OSError, Lost, asyncio.IncompleteReadError) as error:
            raise Unreachable(f"{self.options.url}: {error}") from error
        finally:
            connection.close()

    async def problems(self) -> Any:
        return await self._run(steps.asked(self.options, "GET", "/v1/problems"))

    async def workers(self) -> Any:
        return await self._run(steps.asked(self.options, "GET", "/v1/workers"))

    async def stats(self) -> Any:
        return await self._run(steps.asked(self.options, "GET", "/v1/stats"))

    # --- below -----------------------------------------------------------------------------------

    async def _run(self, operation: Generator[steps.Step, Any, T]) -> T:
        try:
            step = next(operation)
            while True:
                if isinstance(step, Call):
                    try:
                        answer = await self._call(step)
                    except Lost as lost:
                        step = operation.throw(lost)
                    else:
                        step = operation.send(answer)
                else:
                    await asyncio.sleep(step)
                    step = operation.send(None)
        except StopIteration as stop:
            return cast(T, stop.value)

    async def _open(self) -> Connection:
        options = self.options
        opening = asyncio.open_connection(
            options.host,
            options.port,
            ssl=self._tls if options.secure else None,
            limit=HEADER_BYTES,
        )
        try:
            return Connection(*await asyncio.wait_for(opening, options.connect_timeout_s))
        except ssl.SSLCertVerificationError as error:
            raise Unreachable(f"{options.url}: {error}") from error
        except (OSError, asyncio.TimeoutError) as error:
            raise Lost(str(error) or "connecting takes too long") from error

    async def _call(self, call: Call) -> Answer:
        connection = self._idle.pop() if self._idle else await self._open()
        done = False
        try:
            await connection.send(self.options, call)
            waited = asyncio.wait_for(connection.answer(), self.options.timeout_s + call.wait_s)
            answer = await waited
            done = connection.lasts
        except (OSError, ValueError, asyncio.IncompleteReadError, asyncio.TimeoutError) as error:
            raise Lost(str(error) or type(error).__name__) from error
        finally:
            if done:
                self._idle.append(connection)
            else:
                connection.close()
        return answer
