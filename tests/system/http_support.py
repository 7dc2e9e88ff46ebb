"""A server of tests/server/http_echo.c, and a client that sends exactly the given bytes."""

import contextlib
import json
import os
import resource
import signal
import socket
import subprocess
import threading

from support import CHECKOUT, TIMEOUT_S, WAIT_S

PROGRAM = CHECKOUT / "build" / "tests" / "server" / "http_echo"

# More connections than a shell's limit has descriptors for.
_, most = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

GET = "GET {} HTTP/1.1\r\nHost: localhost\r\n{}\r\n"


def chunked(target, *chunks, headers=""):
    head = (
        f"POST {target} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n{headers}\r\n"
    )
    return head.encode() + b"".join(b"%x\r\n%s\r\n" % (len(c), c) for c in chunks)


class Answer:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def code(self):
        """Of the own envelope."""
        assert self.headers["content-type"] == "application/json", self
        error = self.json["error"]
        assert set(error) == {"code", "message", "request_id"}, self
        assert error["message"] and not error["message"].endswith("."), self
        return error["code"]

    def __repr__(self):
        return f"{self.status} {self.headers} {self.body[:300]!r}"


class Client:
    """One connection, on which bytes are sent as they are."""

    def __init__(self, port, host="127.0.0.1", timeout=WAIT_S, receive_bytes=None):
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.socket = socket.socket(family)
        if receive_bytes:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        self.socket.settimeout(timeout)
        self.socket.connect((host, port))
        self.rest = b""
        self.events = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data if isinstance(data, bytes) else data.encode("latin-1"))
        return self

    def more(self):
        data = self.socket.recv(65536)
        if not data:
            raise EOFError(self.rest)
        self.rest += data

    def until(self, mark):
        """All up to and with the mark."""
        while mark not in self.rest:
            self.more()
        found, _, self.rest = self.rest.partition(mark)
        return found + mark

    def exactly(self, count):
        while len(self.rest) < count:
            self.more()
        found, self.rest = self.rest[:count], self.rest[count:]
        return found

    def head(self):
        lines = self.until(b"\r\n\r\n").decode("latin-1").split("\r\n")[:-2]
        version, status, _ = lines[0].split(" ", 2)
        assert version == "HTTP/1.1", lines
        headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(": ")
            assert name.lower() not in headers, lines
            headers[name.lower()] = value
        return Answer(int(status), headers, b"")

    def answer(self, head_only=False):
        answer = self.head()
        if not head_only and answer.status not in (100, 204):
            answer.body = self.exactly(int(answer.headers["content-length"]))
        return answer

    def closed(self):
        """Whether the server ends the connection, saying nothing more."""
        try:
            return self.rest == b"" and self.socket.recv(1) == b""
        except ConnectionResetError:
            return True

    def event(self):
        """The next of a stream; chunks may hold parts of one, or several."""
        while b"\n\n" not in self.events:
            chunk = self.chunk()
            if not chunk:
                raise EOFError(self.events)
            self.events += chunk
        event, _, self.events = self.events.partition(b"\n\n")
        return event

    def chunk(self):
        size = int(self.until(b"\r\n"), 16)
        data = self.exactly(size + 2)
        assert data[-2:] == b"\r\n"
        return data[:-2]


class Server:
    def __init__(self, *settings):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("WARPGYM_")}
        # What was freed is to be free: tests look at the memory that it takes.
        environment["ASAN_OPTIONS"] = "quarantine_size_mb=1"
        self.process = subprocess.Popen(
            [PROGRAM, *settings],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        self.address = self.process.stdout.readline().strip()
        if self.address:
            self.host, _, port = self.address.removeprefix("http://").rpartition(":")
            self.host, self.port = self.host.strip("[]"), int(port)
        self.out = self.err = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.out is None:
            status = self.stop()
            assert status == 0, (status, self.err)

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.wait()

    def wait(self):
        self.out, self.err = self.process.communicate(timeout=TIMEOUT_S)
        assert "Sanitizer" not in self.err, self.err
        return self.process.returncode

    def client(self, **options):
        return Client(self.port, self.host, **options)

    def raw(self, data):
        """The answer to one request on a connection of its own."""
        with self.client() as client:
            return client.send(data).answer(head_only=data[:4] in ("HEAD", b"HEAD"))

    def ask(self, method, target, body=None, headers=()):
        lines = [f"{method} {target} HTTP/1.1", "Host: localhost", *headers]
        if body is not None:
            lines.append(f"Content-Length: {len(body)}")
        return self.raw("\r\n".join([*lines, "", ""]).encode("latin-1") + (body or b""))

    def get(self, target, *headers):
        return self.ask("GET", target, None, headers)

    def post(self, target, body=b"", *headers):
        return self.ask("POST", target, body, headers)

    def counters(self):
        return self.get("/counters").json

    def memory_bytes(self):
        with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def in_background(function):
    """Runs it in a thread, which must end without an error."""
    found = []

    def run():
        with contextlib.suppress(OSError, EOFError):
            found.append(function())

    thread = threading.Thread(target=run)
    thread.start()
    return thread, found
