"""What the HTTP layer answers to requests that are right, wrong, large or not for it."""

import contextlib
import random
import re
import socket

import pytest
from http_support import GET, PROGRAM, Client, Server, chunked, in_background

pytestmark = pytest.mark.skipif(not PROGRAM.is_file(), reason=f"{PROGRAM} is not built: make tests")


@pytest.fixture(scope="module")
def server():
    with Server() as running:
        yield running


# --- what is answered, and how -------------------------------------------------------------------


def test_request_reaches_handler(server):
    answer = server.get("/items/a%20b/parts/%C3%BC?a=1&b=x+y%26&after", "User-Agent: me")
    assert answer.status == 200
    assert answer.json == {
        "method": 1,
        "path": "/items/a b/parts/ü",
        "pattern": "/items/:id/parts/:part",
        "bytes": 0,
        "remote": "127.0.0.1",
        "agent": "me",
        "query": {"a": "1", "b": "x y&", "after": ""},
        "id": "a b",
    }
    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{8}", answer.headers["x-request-id"])
    assert server.get("http://localhost/items/list").json["pattern"] == "/items/list"
    assert server.get("/files/a/b.js").json["path"] == "/files/a/b.js"


def test_request_id_is_taken_when_it_is_plain(server):
    for given, taken in (("abc-1.x_2", True), ("a" * 64, True), ("a" * 65, False), ("a b", False)):
        answer = server.get("/nothing", f"X-Request-Id: {given}")
        assert (answer.headers["x-request-id"] == given) == taken
        assert answer.json["error"]["request_id"] == answer.headers["x-request-id"]


def test_head_answers_like_get_without_body(server):
    get, head = server.get("/items/x"), server.ask("HEAD", "/items/x")
    assert head.status == 200
    assert head.headers["content-length"] == get.headers["content-length"]
    assert head.headers["content-type"] == "application/json"
    assert server.ask("HEAD", "/json").status == 405
    assert server.ask("HEAD", "/none").status == 404


@pytest.mark.parametrize(
    "row",
    [
        (400, "malformed", "GET", "/items/%", ()),
        (400, "malformed", "GET", "/items/%00", ()),
        (400, "malformed", "GET", "/items/%2F", ()),
        (400, "malformed", "GET", "/items/%c0%af", ()),
        (400, "malformed", "GET", "/files/../secret", ()),
        (400, "malformed", "GET", "/files/%2e%2e/secret", ()),
        (400, "malformed", "GET", "/describe?a=%", ()),
        (400, "malformed", "GET", "/describe?a=1&%61=2", ()),
        (400, "malformed", "GET", "relative", ()),
        (400, "malformed", "GET", "/describe", ("Host: localhost",)),
        (400, "malformed", "POST", "/json", ("Content-Length: 1", "Content-Length: 1")),
        (400, "malformed", "POST", "/json", ("Content-Length: 1", "Transfer-Encoding: chunked")),
        (400, "malformed", "GET", "/describe", ("no colon",)),
        (400, "input", "GET", "/numbers?limit=0", ()),
        (400, "input", "GET", "/numbers?limit=101", ()),
        (400, "input", "GET", "/numbers?limit=5x", ()),
        (400, "input", "GET", "/numbers?limit=", ()),
        (400, "input", "GET", "/numbers?limit=99999999999999999999", ()),
        (400, "input", "GET", "/numbers?full=maybe", ()),
        (400, "input", "GET", "/numbers?limits=5", ()),
        (404, "not_found", "GET", "/none", ()),
        (404, "not_found", "GET", "/items/", ()),
        (404, "not_found", "GET", "//items/x", ()),
        (404, "not_found", "POST", "/none", ("Content-Length: 0",)),
        (405, "method_not_allowed", "PUT", "/items/x", ()),
        (405, "method_not_allowed", "BREW", "/items/x", ()),
        (405, "method_not_allowed", "TRACE", "/items/x", ()),
        (411, "length_required", "POST", "/json", ()),
        (413, "body_too_large", "POST", "/small", ("Content-Length: 101",)),
        (413, "body_too_large", "POST", "/json", ("Content-Length: 104857600",)),
        (413, "body_too_large", "POST", "/json", ("Content-Length: 18446744073709551615",)),
        (413, "body_too_large", "GET", "/describe", ("Content-Length: 5",)),
        (414, "target_too_long", "GET", "/items/" + "a" * 8192, ()),
        (414, "target_too_long", "GET", "/a" * 17, ()),
        (414, "target_too_long", "GET", "/describe?" + "&".join(f"n{i}" for i in range(33)), ()),
        (415, "encoded", "POST", "/json", ("Content-Length: 2", "Content-Encoding: gzip")),
        (417, "unsupported", "POST", "/json", ("Content-Length: 2", "Expect: magic")),
        (421, "wrong_host", "GET", "http://localhost/describe", ("X-A: b",)),
        (429, "limit", "GET", "/busy", ()),
        (431, "header_too_large", "GET", "/describe", ("X-Long: " + "a" * 16384,)),
        (431, "header_too_large", "GET", "/describe", tuple(f"X-{i}: a" for i in range(100))),
        (500, "internal", "GET", "/nothing", ()),
        (501, "unsupported", "POST", "/json", ("Transfer-Encoding: gzip",)),
    ],
)
def test_refusals(server, row):
    status, code, method, target, headers = row
    host = "evil.example" if status == 421 else "localhost"
    lines = [f"{method} {target} HTTP/1.1", f"Host: {host}", *headers, "", ""]
    with server.client() as client:
        length = [int(h.split(": ")[1]) for h in headers if h.startswith("Content-Length: ")]
        small = length[0] if length and length[0] < 1000 else 0
        answer = client.send("\r\n".join(lines) + "x" * small).answer()
    assert (answer.status, answer.code) == (status, code), answer
    if status == 405:
        assert answer.headers["allow"] == "GET, HEAD, OPTIONS"
    if status == 429:
        assert int(answer.headers["retry-after"]) > 0
    assert server.get("/ping").status == 200


@pytest.mark.parametrize(
    ("status", "data"),
    [
        (400, "GARBAGE\r\n\r\n"),
        (400, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"),
        (400, "GET /ping\r\n\r\n"),
        (400, "GET /ping HTTP/1.1 x\r\n\r\n"),
        (400, "GET /pi ng HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        (400, "GET /ping HTTP/1.1\r\n\r\n"),
        (400, "a\0b\0\r\n\r\n"),
        (505, "GET /ping HTTP/2.0\r\nHost: localhost\r\n\r\n"),
        (505, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        (505, "GET /ping HTTP/0.9\r\n\r\n"),
    ],
)
def test_no_requests(server, status, data):
    answer = server.raw(data)
    assert answer.status == status, answer
    assert answer.code in ("malformed", "version_unsupported")


def test_nul_ends_a_text(server):
    """libmicrohttpd reads lines as C strings: text behind a NUL is lost."""
    assert server.get("/describe", "User-Agent: a\0b").json["agent"] == "a"
    assert server.get("/items/a\0b").json["id"] == "a"


@pytest.mark.parametrize(
    ("status", "length"),
    [(400, "-1"), (400, "1x"), (400, "0x10"), (400, ""), (413, "99999999999999999999")],
)
def test_length_that_is_no_number(server, status, length):
    with server.client() as client:
        client.send(f"POST /json HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n")
        answer = client.answer()
        assert (answer.status, answer.body) == (status, b"")
        assert answer.headers["connection"] == "close"


def test_headers_without_end(server):
    with server.client() as client:
        client.send("GET /ping HTTP/1.1\r\n")
        with pytest.raises((ConnectionError, AssertionError)):
            for i in range(10000):
                client.send(f"X-{i}: {'a' * 1000}\r\n")
                client.socket.settimeout(0.001)
                try:
                    client.more()
                except TimeoutError:
                    continue
                break
            client.socket.settimeout(60)
            raise AssertionError
        answer = client.answer()
        assert (answer.status, answer.code) == (431, "header_too_large")


def test_other_envelope_for_other_routes(server):
    busy, missing = server.get("/detail/busy"), server.get("/detail/none")
    assert (busy.status, busy.json) == (429, {"detail": "the queue holds 5 jobs"})
    assert (missing.status, missing.json) == (404, {"detail": "no such path"})


def test_header_values_end_no_header(server):
    answer = server.get("/header")
    assert answer.status == 200
    assert "x-second" not in answer.headers


def test_options(server):
    answer = server.ask("OPTIONS", "/json")
    assert (answer.status, answer.headers["allow"]) == (204, "POST, OPTIONS")
    assert not [name for name in answer.headers if name.startswith("access-control")]
    assert server.ask("OPTIONS", "*").status == 204
    assert server.ask("OPTIONS", "/none").status == 404


# --- bodies --------------------------------------------------------------------------------------


def test_json_body(server):
    def post(body, kind="application/json"):
        return server.post("/json", body, f"Content-Type: {kind}")

    assert post(b'{"a": [1, 2.5, "\xc3\xbc", null]}').json == {"a": [1, 2.5, "ü", None]}
    assert post(b"[]", "application/json; charset=UTF-8").status == 200
    assert post(b"[]", "application/problem+json").status == 200
    deep = b"[" * 64 + b"]" * 64
    assert post(deep).status == 200
    for written in (b"\xff", b"\\u0000", b"\\ud800"):
        assert post(b'["' + written + b'"]').json == ["\ufffd"]
    for body in (
        b"",
        b"{",
        b"5",
        b'{"a":1,"a":2}',
        b'["a"\xff]',
        b'["\x00"]',
        b"[" + deep + b"]",
        b"[" * 1000000,
        b"[1e999]",
        b"\xef\xbb\xbf[]",
    ):
        answer = post(body)
        assert (answer.status, answer.code) == (400, "input"), (body[:20], answer)
    for kind in (
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/json; charset=x",
        "json",
        "",
    ):
        answer = post(b"[]", kind)
        assert (answer.status, answer.code) == (415, "not_json"), kind
    assert server.post("/json", b"[]").status == 415


def test_body_without_length(server):
    request = "{} /optional HTTP/1.1\r\nHost: localhost\r\n\r\n"
    answer = server.raw(request.format("POST"))
    assert (answer.status, answer.body) == (200, b"")


def test_body_at_its_bound(server):
    assert server.post("/small", b"x" * 100).body == b"x" * 100
    assert server.post("/small", b"x" * 101).status == 413
    body = bytes(range(256)) * 65536
    assert len(body) == 16 << 20
    assert server.post("/bytes", body).body == body


def test_refused_small_body_keeps_connection(server):
    with server.client() as client:
        client.send(b"POST /small HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000\r\n\r\n")
        client.send(b"x" * 5000)
        assert client.answer().status == 413
        client.send(GET.format("/ping", ""))
        assert client.answer().status == 200


def test_large_body_is_not_read(server):
    """100 MB come without being asked for: the refusal is there, and little was read."""
    before = server.memory_bytes()
    with server.client() as client:
        client.send("POST /json HTTP/1.1\r\nHost: localhost\r\nContent-Length: 104857600\r\n\r\n")

        def flood():
            for _ in range(100):
                client.send(b"x" * (1 << 20))

        thread, sent = in_background(flood)
        answer = client.answer()
        client.close()
        thread.join()
    assert (answer.status, answer.code) == (413, "body_too_large")
    assert answer.headers["connection"] == "close"
    assert sent == []
    assert server.memory_bytes() - before < 32 << 20


def test_chunked_body(server):
    assert server.raw(chunked("/bytes", b"abc", b"d" * 70000, b"")).body == b"abc" + b"d" * 70000
    assert server.raw(chunked("/small", b"")).body == b""
    extended = chunked("/bytes") + b'3;name="value"\r\nabc\r\n0\r\nX-Trailer: a\r\n\r\n'
    assert server.raw(extended).body == b"abc"


@pytest.mark.parametrize(
    ("status", "data"),
    [
        (413, chunked("/small", b"x" * 60, b"x" * 60)),
        (413, chunked("/bytes", *[b"x" * (1 << 20)] * 17)),
        (413, chunked("/describe", b"x").replace(b"POST", b"GET", 1)),
        (400, chunked("/bytes") + b"x\r\n"),
        (400, chunked("/bytes") + b"-1\r\nabc\r\n"),
        (400, chunked("/bytes") + b"3\r\nabcd\r\n"),
        (400, chunked("/bytes") + b"\r\nabc\r\n"),
        (413, chunked("/bytes") + b"fffffffffffffffff\r\n"),
        (413, chunked("/bytes") + b"ffffffffffffffff\r\n" + b"x" * (17 << 20)),
    ],
)
def test_refused_chunks(server, status, data):
    with server.client() as client:
        thread, _ = in_background(lambda: client.send(data))
        answer = client.answer()
        assert (answer.status, bool(answer.code)) == (status, True)
        assert client.closed()
        thread.join()
    assert server.get("/ping").status == 200


def test_continue(server):
    expecting = "POST /bytes HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
    head = expecting + "Content-Length: {}\r\n\r\n"
    with server.client() as client:
        assert client.send(head.format(5)).answer().status == 100
        assert client.send("hello").answer().body == b"hello"
        # Refused: no 100, and the body is not waited for.
        answer = client.send(head.format(100 << 20)).answer()
        assert answer.status == 413
        assert client.closed()


def test_mutated_requests(server):
    """Whatever bytes come, each connection ends, answered or not, and the server goes on."""
    seeds = [
        b"GET /items/a%20b?a=1&b=2 HTTP/1.1\r\nHost: localhost\r\nUser-Agent: x\r\n\r\n",
        b"POST /json HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b'Content-Length: 9\r\n\r\n{"a":[1]}',
        chunked("/bytes", b"abc", b"defghi", b""),
        b"POST /bytes HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
        b"Content-Length: 3\r\n\r\nabc",
    ]
    pieces = [
        b"\r\n",
        b"\n",
        b"\0",
        b" ",
        b":",
        b"%",
        b"\xff",
        b"0",
        b"chunked",
        b"-1",
        b"A" * 9000,
    ]
    chance = random.Random(7)
    for _ in range(1500):
        data = bytearray(chance.choice(seeds))
        for _ in range(chance.randrange(1, 4)):
            at = chance.randrange(len(data))
            if chance.random() < 0.5:
                data[at : at + chance.randrange(4)] = chance.choice(pieces)
            else:
                data[at] = chance.randrange(256)
        with server.client() as client, contextlib.suppress(ConnectionError):
            client.send(bytes(data) * chance.randrange(1, 3))
            client.socket.shutdown(socket.SHUT_WR)
            while client.socket.recv(65536):
                pass
    assert server.get("/ping").status == 200


# --- authorization -------------------------------------------------------------------------------


def test_token():
    with Server("server.token=let me in") as server:
        for header in (
            (),
            ("Authorization: let me in",),
            ("Authorization: Bearer let me",),
            ("Authorization: Bearer let me in!",),
            ("Authorization: Basic let me in",),
            ("Authorization: Bearer",),
        ):
            for target in ("/private", "/none", "/items/x"):
                answer = server.get(target, *header)
                assert (answer.status, answer.code) == (401, "unauthorized")
                assert answer.headers["www-authenticate"].startswith("Bearer")
        assert server.get("/ping").status == 200
        assert server.get("/private", "Authorization: bearer let me in").status == 200
        assert server.get("/none", "Authorization: Bearer let me in").status == 404
        assert server.post("/json", b"[" * 100000).status == 401


@pytest.mark.parametrize("host", ["0.0.0.0", "[::]"])
def test_needs_token_for_others(host):
    refused = Server(f"server.listen={host}:0")
    assert refused.wait() == 1
    assert refused.out == ""
    assert len(refused.err.splitlines()) == 1
    assert "set a token (" in refused.err
    for more in ("server.token=x", "server.insecure=true"):
        with Server(f"server.listen={host}:0", more) as server, Client(server.port) as client:
            answer = client.send("GET /ping HTTP/1.1\r\nHost: anything.example\r\n\r\n").answer()
            assert answer.status == 200


def test_version_6():
    with Server("server.listen=[::1]:0") as server:
        assert server.address == f"http://[::1]:{server.port}"
        assert server.get("/describe").json["remote"] == "::1"


def test_port_is_taken(server):
    refused = Server(f"server.listen=127.0.0.1:{server.port}")
    assert refused.wait() == 1
    assert "cannot listen on 127.0.0.1" in refused.err


def test_names_of_loopback():
    with Server("server.allowed_hosts=gym.example,other.example") as server:
        for host, status in (
            ("localhost:1", 200),
            ("127.0.0.1", 200),
            ("[::1]:5", 200),
            ("gym.example:80", 200),
            ("OTHER.example", 200),
            ("evil.example", 421),
            ("localhost.evil.example", 421),
            ("", 421),
        ):
            request = f"GET /ping HTTP/1.1\r\nHost: {host}\r\n\r\n"
            assert server.raw(request).status == status, host


def test_other_origins():
    page = "Origin: https://page.example"

    def access(answer):
        return {k: v for k, v in answer.headers.items() if k.startswith("access-control")}

    with Server() as server:
        answer = server.get("/ping", page)
        assert (answer.status, access(answer)) == (200, {})
        for origin in (page, "Origin: null"):
            answer = server.post("/bytes", b"x", origin)
            assert (answer.status, answer.code) == (403, "foreign_origin")
        assert server.post("/bytes", b"x", "Origin: http://localhost").status == 200
        preflight = server.ask(
            "OPTIONS", "/bytes", None, (page, "Access-Control-Request-Method: POST")
        )
        assert access(preflight) == {}
    with Server("server.allowed_origins=https://page.example", "server.token=x") as server:
        preflight = server.ask(
            "OPTIONS", "/bytes", None, (page, "Access-Control-Request-Method: POST")
        )
        assert preflight.status == 204
        assert preflight.headers["access-control-allow-origin"] == "https://page.example"
        assert "POST" in preflight.headers["access-control-allow-methods"]
        assert "Authorization" in preflight.headers["access-control-allow-headers"]
        answer = server.post("/bytes", b"x", page, "Authorization: Bearer x")
        assert (answer.status, answer.headers["vary"]) == (200, "Origin")
        assert (
            server.post("/bytes", b"x", "Origin: https://x", "Authorization: Bearer x").status
            == 403
        )
