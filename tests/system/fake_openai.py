"""An OpenAI-compatible endpoint that does as a test plans it.

    with FakeOpenAI() as endpoint:
        endpoint.plan = [status(429, retry_after="1"), streamed("Hello")]

Each question takes the next step of the plan; the last one stays. Questions are kept in
`endpoint.questions` (body, headers), and so is how many were under way at a time.
"""

import contextlib
import json
import socket
import time

from fake_http import FakeServer, Handler

USAGE = {
    "prompt_tokens": 1000,
    "completion_tokens": 200,
    "total_tokens": 1200,
    "prompt_tokens_details": {"cached_tokens": 400},
}
SSE = "text/event-stream"


class FakeOpenAI(FakeServer):
    def __init__(self, models=("fake-1",)):
        self.handler = _Handler
        super().__init__()
        self.url += "/v1"
        self.models = list(models)
        self.plan = [streamed("yes")]
        self.questions, self.headers, self.times = [], [], []
        self.under_way = self.most = self.connections = 0
        self.models_status = 200

    def next_step(self):
        with self.lock:
            return self.plan.pop(0) if len(self.plan) > 1 else self.plan[0]


class _Handler(Handler):
    def setup(self):
        super().setup()
        with self.fake.lock:
            self.fake.connections += 1

    def do_GET(self):
        if self.path != "/v1/models" or self.fake.models_status != 200:
            return self.send_json({"detail": "Not Found"}, 404)
        listed = [{"id": name, "object": "model"} for name in self.fake.models]
        return self.send_json({"object": "list", "data": listed})

    def do_POST(self):
        body = self.body()
        if self.path != "/v1/chat/completions":
            return self.send_json({"detail": "Not Found"}, 404)
        fake = self.fake
        with fake.lock:
            fake.questions.append(body)
            fake.headers.append(dict(self.headers))
            fake.times.append(time.monotonic())
            fake.under_way += 1
            fake.most = max(fake.most, fake.under_way)
        try:
            return fake.next_step()(self, body)
        finally:
            with fake.lock:
                fake.under_way -= 1

    # --- what steps are made of ---

    def rest(self, seconds):
        self.fake.ended.wait(seconds)

    def begin_stream(self, kind=SSE):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def send_chunk(self, data):
        data = data if isinstance(data, bytes) else data.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def send_event(self, value):
        text = value if isinstance(value, str) else json.dumps(value)
        self.send_chunk(f"data: {text}\n\n")

    def end_stream(self):
        self.wfile.write(b"0\r\n\r\n")

    def drop(self):
        """The connection ends without a word, and with a reset."""
        with contextlib.suppress(OSError):
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            self.connection.shutdown(socket.SHUT_RDWR)
        self.close_connection = True


def chunk(delta, finish=None, logprobs=None, **more):
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    if logprobs:
        choice["logprobs"] = {"content": logprobs}
    return {"id": "1", "model": "fake-1-snapshot", "choices": [choice]} | more


# --- steps of a plan -----------------------------------------------------------------------------


def streamed(text, *, reasoning="", key="reasoning_content", usage=USAGE, finish="stop", done=True,
             pause=0, first=0, logprobs=False, stay=0, cut=None):
    """Word by word; `cut`: the connection ends after so many words; `stay`: it stays open behind
    [DONE] for so long."""

    def step(handler, _body):
        handler.rest(first)
        handler.begin_stream()
        handler.send_event(chunk({"role": "assistant", "content": ""}))
        for word in reasoning.split(" ") if reasoning else []:
            handler.send_event(chunk({key: word + " "}))
        words = text.split(" ")
        for i, word in enumerate(words):
            if i == cut:
                return handler.drop()
            handler.rest(pause if i else 0)
            token = word + (" " if i + 1 < len(words) else "")
            known = [{"token": token, "logprob": -0.5 * i, "bytes": None}] if logprobs else None
            handler.send_event(chunk({"content": token}, logprobs=known))
        if finish:
            handler.send_event(chunk({}, finish))
        if usage:
            handler.send_event({"id": "1", "choices": [], "usage": usage})
        if done:
            handler.send_event("[DONE]")
        if stay:
            handler.rest(stay)
        return handler.end_stream()

    return step


def answered(answers):
    """What `answers` makes of the question's messages; a step for any number of questions."""

    def step(handler, body):
        whole(answers(body["messages"]))(handler, body)

    return step


def whole(text, **message):
    def step(handler, _body):
        choice = {"index": 0, "message": {"role": "assistant", "content": text} | message,
                  "finish_reason": "stop"}
        one = {"id": "1", "object": "chat.completion", "created": 0, "model": "fake-1-snapshot"}
        handler.send_json(one | {"choices": [choice], "usage": USAGE})

    return step


def status(code, body=None, retry_after=None, kind="application/json"):
    def step(handler, _body):
        headers = [("Retry-After", retry_after)] if retry_after else []
        text = body if isinstance(body, str) else json.dumps(body or {})
        handler.send_text(text, code, kind, headers)

    return step


def events(*data):
    """These bytes as they are, in a stream that ends in good order."""

    def step(handler, _body):
        handler.begin_stream()
        for portion in data:
            handler.send_chunk(portion)
        handler.end_stream()

    return step


def dropped():
    def step(handler, _body):
        handler.drop()

    return step


def silent(seconds=60, begin=False, ping=0):
    """Nothing for so long; `ping`: comments meanwhile, so often."""

    def step(handler, _body):
        if begin or ping:
            handler.begin_stream()
        end = time.monotonic() + seconds
        while time.monotonic() < end and not handler.fake.ended.is_set():
            handler.rest(ping or seconds)
            if ping:
                handler.send_chunk(": ping\n\n")

    return step


def flood(portion, kind=SSE):
    """The same without an end."""

    def step(handler, _body):
        handler.begin_stream(kind)
        while not handler.fake.ended.is_set():
            handler.send_chunk(portion)

    return step


def redirect(where):
    def step(handler, _body):
        handler.send_text("", 307, headers=[("Location", where)])

    return step
