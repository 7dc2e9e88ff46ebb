"""The HTTP layer under clients that are slow, gone, many, or wait."""

import functools
import json
import re
import signal
import socket

import pytest
from http_support import GET, PROGRAM, Server, chunked, in_background
from support import wait_until

pytestmark = pytest.mark.skipif(not PROGRAM.is_file(), reason=f"{PROGRAM} is not built: make tests")


@pytest.fixture(scope="module")
def server():
    with Server() as running:
        yield running


# --- connections ---------------------------------------------------------------------------------


def test_keep_alive_and_pipelining(server):
    with server.client() as client:
        for _ in range(100):
            assert client.send(GET.format("/items/x", "")).answer().status == 200
        requests = [GET.format(f"/items/{i}", "") for i in range(50)]
        requests[10] = "POST /bytes HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello"
        requests[20] = GET.format("/race", "")
        requests[30] = GET.format("/wait?ms=20", "")
        requests[40] = GET.format("/blocking?ms=5", "")
        client.send("".join(requests))
        for i in range(50):
            answer = client.answer()
            if i % 10 or not i:
                assert answer.json["id"] == str(i)
            else:
                assert answer.status == (202 if i == 30 else 200)


def test_end_of_connection(server):
    with server.client() as client:
        answer = client.send(GET.format("/ping", "Connection: close\r\n")).answer()
        assert answer.headers["connection"] == "close"
        assert client.closed()
    with server.client() as client:
        client.send("GET /ping HTTP/1.0\r\n\r\n")
        assert client.answer().status == 200
        assert client.closed()
    with server.client() as client:  # half closed after the request: it still gets its answer
        client.send(GET.format("/ping", ""))
        client.socket.shutdown(socket.SHUT_WR)
        assert client.answer().status == 200


MANY = [f"X-{i}: a" for i in range(100)]


@pytest.mark.parametrize("start", ["POST /bytes", "GET /ping", "DELETE /none"])
@pytest.mark.parametrize(
    "headers",
    [
        ["Content-Length: 0", "Content-Length: 40"],
        ["Content-Length: 40", "Content-Length: 0"],
        ["Content-Length: 0", "Content-Length: 0"],
        ["Content-Length: 5", "content-length: 5"],
        ["Transfer-Encoding: chunked", "Transfer-Encoding: identity"],
        ["Transfer-Encoding: identity", "Transfer-Encoding: chunked"],
        ["Content-Length: 5", "Transfer-Encoding: chunked"],
        [*MANY, "Content-Length: 0", "Content-Length: 40"],
        [*MANY, "Transfer-Encoding: chunked"],
    ],
)
def test_no_request_behind_a_body_of_unclear_length(server, start, headers):
    """A proxy in front of this server may see other requests in these bytes than it does."""
    head = "\r\n".join([f"{start} HTTP/1.1", "Host: localhost", *headers, "", ""])
    with server.client() as client:
        answer = client.send(head + 2 * GET.format("/items/behind", "")).answer()
        assert answer.status == (431 if headers[: len(MANY)] == MANY else 400)
        assert answer.headers["connection"] == "close"
        assert client.closed()


@pytest.mark.parametrize("count", [1, 127, 128, 129, 256])
def test_many_at_the_same_instant(count):
    """libmicrohttpd's own thread would sleep on 128 events: no wake-up follows here."""
    with Server("server.threads=1") as server:
        clients = [server.client() for _ in range(count)]
        for client in clients:
            assert client.send(GET.format("/ping", "")).answer().status == 200
        server.process.send_signal(signal.SIGSTOP)
        for client in clients:
            client.send(GET.format("/ping", ""))
        server.process.send_signal(signal.SIGCONT)
        for client in clients:
            assert client.answer().status == 200
            client.close()


def test_byte_by_byte(server):
    with server.client() as client:
        request = b"POST /bytes HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc"
        for byte in request:
            client.send(bytes([byte]))
        assert client.answer().body == b"abc"


def test_slow_clients():
    """Each kind gets 408 or is hung up on, and none of them is waited for by others."""
    limits = ("header", "body", "idle")
    with Server(*(f"server.{name}_timeout_ms=300ms" for name in limits)) as server:
        cases = {
            "nothing": "",
            "header": "GET /ping HTTP/1.1\r\nHost: loc",
            "line": "GET /pi",
            "body": "POST /bytes HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nab",
            "chunks": chunked("/bytes") + b"5\r\nab",
            "refused": "POST /small HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500\r\n\r\nab",
        }
        clients = {name: server.client().send(data) for name, data in cases.items()}
        idle = server.client()
        assert idle.send(GET.format("/ping", "")).answer().status == 200
        for name, client in clients.items():
            if name != "nothing":
                answer = client.answer()
                assert (answer.status, answer.code) == (408, "too_slow"), name
                assert answer.headers["connection"] == "close"
            assert client.closed(), name
            client.close()
        assert idle.closed()
        idle.close()
        # A client that sends now and then is slow, too.
        with server.client() as client:
            client.send("POST /bytes HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n")
            client.socket.settimeout(0.02)
            with pytest.raises(AssertionError):
                for _ in range(100000):
                    client.send("x")
                    try:
                        client.more()
                    except TimeoutError:
                        continue
                    raise AssertionError
            client.socket.settimeout(60)
            assert client.answer().status == 408


def test_client_that_does_not_read():
    slow = {"receive_bytes": 4096}
    with Server("server.send_timeout_ms=300ms") as server, server.client(**slow) as client:
        client.send(GET.format("/large", ""))
        wait_until(
            lambda: 'route="/large",status="200"' in server.get("/metrics").body.decode(),
            "the server gives up on a client that does not read",
        )


def test_many_half_open_connections():
    with Server("server.max_connections=200", "server.header_timeout_ms=500ms") as server:
        clients = [server.client().send("GET /ping HT") for _ in range(250)]
        # They hold all connections; the next client is served as soon as those are closed.
        assert server.get("/ping").status == 200
        for client in clients:
            client.close()


def test_bound_for_one_address():
    with Server("server.max_per_address=5") as server:
        clients = [server.client() for _ in range(5)]
        for client in clients:
            assert client.send(GET.format("/ping", "")).answer().status == 200
        with server.client() as one_more:
            assert one_more.closed()
        clients.pop().close()

        def fits():
            try:
                return server.get("/ping").status == 200
            except (OSError, EOFError):
                return False

        wait_until(fits, "a place is free again")
        for client in clients:
            client.close()


def test_full_handler_queue():
    with Server("server.handler_threads=1", "server.handler_queue=2") as server:
        clients = [server.client().send(GET.format("/blocking?ms=300", "")) for _ in range(8)]
        statuses = []
        for client in clients:
            answer = client.answer()
            statuses.append(answer.status)
            if answer.status == 503:
                assert answer.code == "busy"
                assert int(answer.headers["retry-after"]) > 0
            client.close()
        assert 2 <= statuses.count(200) <= 3
        assert statuses.count(503) == 8 - statuses.count(200)


# --- long poll -----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/wait", "/wait-blocking"])
def test_late(path):
    with Server() as server:
        answer = server.get(f"{path}?ms=50&a=1", "User-Agent: patient")
        assert answer.status == 202
        assert (answer.json["late"], answer.json["agent"]) == (True, "patient")
        assert server.counters()["late"] == 1
        # Its handle must still be released; the answer is dropped.
        assert server.post("/answer", b"too late").json == {"delivered": 0}
        wait_until(lambda: server.counters()["released"] == 1, "released")


@pytest.mark.parametrize("path", ["/wait", "/wait-blocking"])
def test_thousand_waiters(path):
    with Server() as server:
        clients = [server.client().send(GET.format(path, "")) for _ in range(1000)]
        wait_until(lambda: server.counters()["waiting"] == 1000, "all wait")
        assert "warpgym_http_waiting 1000\n" in server.get("/metrics").body.decode()
        with open(f"/proc/{server.process.pid}/status", encoding="ascii") as file:
            threads = int(re.search(r"Threads:\s+(\d+)", file.read()).group(1))
        assert threads < 100
        assert server.get("/ping").status == 200
        assert server.post("/answer", b"now").json == {"delivered": 1000}
        for client in clients:
            answer = client.answer()
            assert (answer.status, answer.body) == (200, b"now")
            client.send(GET.format("/ping", ""))
        for client in clients:
            assert client.answer().status == 200
            client.close()
        assert server.counters()["released"] == 1000
        assert "warpgym_http_waiting 0\n" in server.get("/metrics").body.decode()


@pytest.mark.parametrize("path", ["/wait", "/wait-blocking"])
def test_waiter_whose_client_goes(path):
    with Server() as server:
        clients = [server.client().send(GET.format(path, "")) for _ in range(20)]
        wait_until(lambda: server.counters()["waiting"] == 20, "all wait")
        for client in clients[:10]:
            client.close()
        wait_until(lambda: server.counters()["gone"] == 10, "ten are gone")
        assert server.counters()["released"] == 0
        assert server.post("/answer", b"x").json == {"delivered": 10}
        for client in clients[10:]:
            assert client.answer().status == 200
            # One that waited before, and goes while it waits again.
            client.send(GET.format(path, ""))
        wait_until(lambda: server.counters()["waiting"] == 30, "ten wait again")
        for client in clients[10:]:
            client.close()
        wait_until(lambda: server.counters()["gone"] == 20, "all are gone")
        assert server.post("/answer", b"x").json == {"delivered": 0}
        assert server.counters()["released"] == 30


def test_dropped_waiter_gets_an_answer():
    with Server() as server, server.client() as client:
        client.send(GET.format("/wait", ""))
        wait_until(lambda: server.counters()["waiting"] > server.counters()["released"], "waits")
        assert server.post("/drop").status == 200
        assert client.answer().status == 500


@pytest.mark.parametrize("path", ["/race", "/race-blocking"])
def test_answer_before_the_handler_returns(server, path):
    with server.client() as client:
        for _ in range(300):
            assert client.send(GET.format(path, "")).answer().body == b"at once\n"


# --- events --------------------------------------------------------------------------------------


def follow(server, path="/events", *headers, **options):
    client = server.client(**options)
    client.send(GET.format(path, "".join(header + "\r\n" for header in headers)))
    head = client.head()
    assert head.status == 200
    assert head.headers["content-type"] == "text/event-stream"
    assert head.headers["cache-control"] == "no-store"
    assert client.event().startswith(b":")
    return client


@pytest.mark.parametrize("path", ["/events", "/events-blocking"])
def test_events(path):
    with Server() as server:
        clients = [follow(server, path) for _ in range(3)]
        wait_until(lambda: server.counters()["streams"] == 3, "all follow")
        assert server.post("/event?id=7&name=job", b"one\ntwo\r\nthree\r").json == {"sent": 3}
        for client in clients:
            event = b"id: 7\nevent: job\ndata: one\ndata: two\ndata: three\ndata: "
            assert client.event() == event
        assert server.post("/event", b"").json == {"sent": 3}
        for client in clients:
            assert client.event() == b"data: "
        clients.pop().close()
        wait_until(lambda: server.counters()["streams_gone"] == 1, "one is gone")
        assert server.post("/event", b"x").json == {"sent": 2}
        assert server.post("/close").status == 200
        for client in clients:
            assert client.event() == b"data: x"
            assert client.chunk() == b""
            client.send(GET.format("/ping", ""))  # the connection lives on
            assert client.answer().status == 200
            client.close()
        assert server.counters()["streams_gone"] == 1
        wait_until(lambda: server.counters()["streams_released"] == 3, "all are released")


def test_last_event_id():
    with Server() as server, follow(server, "/events", "Last-Event-ID: 41") as client:
        assert client.event() == b"event: resumed\ndata: 41"


def test_events_head_and_old_clients(server):
    head = server.ask("HEAD", "/events")
    assert (head.status, head.headers["content-type"]) == (200, "text/event-stream")
    with server.client() as client:
        client.send("GET /events HTTP/1.0\r\nHost: localhost\r\n\r\n")
        assert client.head().status == 200
        client.until(b"\n\n")
        assert server.post("/event", b"x").status == 200
        assert client.until(b"\n\n") == b"data: x\n\n"
    assert server.post("/close").status == 200


# A backlog that holds what these tests send, whatever sockets hold.
PATIENT = f"/events?backlog={64 << 20}"


def test_client_that_does_not_read_events():
    with Server() as server:
        slow = follow(server, receive_bytes=4096)
        fast = follow(server, PATIENT)  # it may be out of breath for a moment, on a busy machine
        wait_until(lambda: server.counters()["streams"] == 2, "both follow")
        before = server.memory_bytes()
        event = b"x" * 60000
        sent, rounds = 2, 0
        thread, read = in_background(lambda: [fast.more() for _ in range(10**9)])
        while sent == 2 and rounds < 2000:
            sent = server.post("/event", event).json["sent"]
            rounds += 1
            fast.rest = b""
        assert sent == 1, "the slow one was dropped"
        wait_until(lambda: server.counters()["streams_gone"] == 1, "and its owner was notified")
        assert server.memory_bytes() - before < 32 << 20
        assert server.post("/close").status == 200
        fast.socket.shutdown(socket.SHUT_RDWR)
        thread.join()
        slow.close()
        fast.close()
        assert read == []


def test_event_larger_than_backlog_drops():
    with Server() as server, follow(server) as client:
        wait_until(lambda: server.counters()["streams"] == 1, "it follows")
        assert server.post("/event", b"x" * (2 << 20)).json == {"sent": 0}
        with pytest.raises((EOFError, ConnectionError)):
            client.more()
        wait_until(lambda: server.counters()["streams_gone"] == 1, "its owner was notified")


# --- the end -------------------------------------------------------------------------------------


def test_stop_answers_all_clients():
    with Server() as server:
        waiting = [
            server.client().send(GET.format(path, "")) for path in ("/wait", "/wait-blocking")
        ]
        running = server.client().send(GET.format("/blocking?ms=500", ""))
        following = follow(server)
        idle = server.client()
        assert idle.send(GET.format("/ping", "")).answer().status == 200
        half = server.client().send("GET /ping HTTP/1.1\r\nHost: local")
        wait_until(lambda: server.counters()["waiting"] == 2, "both wait")
        assert server.stop() == 0
        for client in waiting:
            answer = client.answer()
            assert (answer.status, answer.code) == (503, "stopping")
            assert int(answer.headers["retry-after"]) > 0
            assert client.closed()
        answer = running.answer()
        assert (answer.status, answer.headers["connection"]) == (200, "close")
        assert following.chunk() == b""
        assert idle.closed()
        assert half.closed()
        assert server.out.splitlines()[-1] == "released 2 of 2, streams 1"
        for client in (*waiting, running, following, idle, half):
            client.close()


def test_stop_closes_connections_that_do_not_read():
    with Server() as server, server.client(receive_bytes=4096) as whole:
        whole.send(GET.format("/large", ""))
        dropped = follow(server, receive_bytes=4096)
        behind = follow(server, PATIENT, receive_bytes=4096)
        wait_until(lambda: server.counters()["streams"] == 2, "both follow")
        event, times = b"x" * 60000, (48 << 20) // 60000
        sent = server.post(f"/event?times={times}", event).json["sent"]
        assert times <= sent < 2 * times, "one had room for all of them, the other had not"
        wait_until(lambda: server.counters()["streams_gone"] == 1, "the other is hung up on")
        assert server.stop() == 0, server.err
        dropped.close()
        behind.close()


def test_stop_reports_handlers_that_still_run():
    with Server() as server:
        running = server.client().send(GET.format("/blocking?ms=4000", ""))
        wait_until(lambda: server.get("/ping").status == 200, "it serves")
        server.get("/blocking?ms=50")
        assert server.stop() == 1
        assert "still running after 2000 ms" in server.err
        running.close()


def test_memory_is_flat():
    with Server() as server:
        body = json.dumps({"text": "x" * 5000}).encode()

        def ask(client, count):
            for i in range(count):
                client.send(GET.format(f"/items/{i}?a={i}", "")).answer()
                client.send(
                    b"POST /json HTTP/1.1\r\nHost: localhost\r\n"
                    b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
                    % (len(body), body)
                ).answer()
                client.send(GET.format("/race", "")).answer()

        with server.client() as client:
            ask(client, 300)
            before = server.memory_bytes()
            ask(client, 3000)
        for _ in range(1000):
            server.get("/ping")
        assert server.memory_bytes() - before < 8 << 20


def test_metrics(server):
    """A request counts when its response is sent: a client that has it may ask before that."""
    server.get("/ping")
    server.get("/none")

    def has(row):
        return f"warpgym_http_requests_total{row}" in server.get("/metrics").body.decode()

    for row in ('{route="/ping",status="200"}', '{route="none",status="404"}'):
        wait_until(functools.partial(has, row), f"the metrics have {row}")
    text = server.get("/metrics").body.decode()
    assert re.search(r'warpgym_http_request_seconds_count\{route="/ping"\} [1-9]', text)
    assert re.search(r"^warpgym_http_connections [1-9]", text, re.MULTILINE)
