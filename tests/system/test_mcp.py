"""`warpgym mcp` with a real judge: agents with the official client, where that is installed, and
what no well-behaved client does."""

import contextlib
import http.client
import json
import re
import signal
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from serving import Server as JudgingServer
from support import (
    CHECKOUT,
    PYTHON,
    TIMEOUT_S,
    USAGE,
    WARPGYM,
    captured,
    processes,
    read_lines,
    wait_until,
)

SCENARIOS = Path(__file__).with_name("mcp_scenarios.py")
RIGHT = """#include <stddef.h>
void solution(const float *x, float *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] > 0 ? x[i] : 0;
}
"""
WRONG = RIGHT.replace("x[i] > 0 ? x[i] : 0", "x[i]")
SPIN = (
    "#include <sys/prctl.h>\n"
    + RIGHT.replace("{\n", '{\n    prctl(PR_SET_NAME, "spinning");\n', 1)
    .replace("    for", "    for (volatile int i = 1; i;)\n        ;\n    for", 1)
)  # fmt: skip
# A candidate that hangs does so until it is cancelled.
ENDLESS = ("--set", "run.timeout_ms=10m")
FAST = ("--set", "timing.budget_ms=1")
STATELESS = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
}
INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


def call(id, method, **params):
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def submission(id, source, **more):
    arguments = {"problem": "relu", "source": source}
    return call(id, "tools/call", name="submit", arguments=arguments, **more)


def spinning():
    return [one for one in processes() if one.name == "spinning"]


# --- the official client -------------------------------------------------------------------------


# Where an interpreter with the package may be (setup.sh), what it needs to find it, and
# what its clients can do.
GYM = CHECKOUT / ".venv-gym"
GENERATIONS = {
    "mcp2": (GYM / "verifiers", "hasattr(mcp, 'Client')", ("whole:auto", "cancel:auto")),
    "mcp1": ("", "mcp.ClientSession", ("whole:legacy", "cancel:legacy")),
}


@pytest.fixture(scope="session", params=GENERATIONS)
def agent(request):
    """Plays scenarios with the official client of that generation."""
    path, probe, scenarios = GENERATIONS[request.param]
    why = f"{GYM.name} is not there (./setup.sh gym)"
    for python in filter(Path.is_file, [GYM / "bin" / "python3", PYTHON]):
        environment = {"PYTHONPATH": str(path)}
        command = [python, "-c", f"import mcp; assert {probe}"]
        run = captured(command, env=environment)
        if run.returncode == 0:
            return Agent(python, environment, scenarios)
        why = f"{python.parent.parent.name}: {run.stderr.strip().splitlines()[-1]}"
    return pytest.skip(f"no Python with the package {request.param}: {why}")


class Agent:
    def __init__(self, python, environment, scenarios):
        self.python = python
        self.environment = environment
        self.scenarios = scenarios

    def play(self, warpgym, *target):
        run = captured(
            [self.python, SCENARIOS, ",".join(self.scenarios), *map(str, target)],
            env=warpgym.environment | self.environment,
            cwd=warpgym.folder,
        )
        assert run.returncode == 0, run.stderr


def check_trajectories(record):
    """Of two agents, one of whom took back a submission."""
    trajectories = read_lines(record / "trajectories.jsonl")
    statuses = [[turn["status"] for turn in one["turns"]] for one in trajectories]
    assert sorted(statuses) == [["wrong", "compile_error", "passed"], ["wrong", "passed"]]
    for one in trajectories:
        assert one["policy"] == "mcp" and one["model"].startswith("mcp ")
        assert one["solved"] and one["end"] == "expired"
    assert not list((record / "open").iterdir())


def test_agent_on_stdio(warpgym, agent):
    record = warpgym.folder / "record"
    agent.play(warpgym, WARPGYM, "mcp", "--record", record, *ENDLESS, *FAST)
    assert not spinning()
    check_trajectories(record)


def test_agent_over_http(warpgym, agent):
    record = warpgym.folder / "record"
    with serving(warpgym, "--record", record, *ENDLESS, *FAST) as server:
        agent.play(warpgym, server.url)
        wait_until(lambda: not spinning(), "the cancelled one is gone")
    check_trajectories(record)


# --- standard input and output -------------------------------------------------------------------


class Stdio:
    """A client of a few lines."""

    def __init__(self, warpgym, *arguments):
        self.log = warpgym.folder / "mcp.log"
        with self.log.open("ab") as log:
            self.process = warpgym.start(
                "mcp", *ENDLESS, *FAST, *arguments, stdin=subprocess.PIPE, stderr=log
            )

    def send(self, *messages):
        for message in messages:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def receive(self):
        line = self.process.stdout.readline()
        assert line, self.log.read_text()
        return json.loads(line)

    def begin(self):
        self.send(call(0, "initialize", **INITIALIZE))
        assert self.receive()["result"]["protocolVersion"] == "2025-06-18"
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def submit(self, source):
        self.send(submission("s", source))
        return self.receive()["result"]["structuredContent"]

    def end(self):
        """What was still to be read."""
        self.process.stdin.close()
        rest = [json.loads(line) for line in self.process.stdout]
        assert self.process.wait(TIMEOUT_S) == 0, self.log.read_text()
        self.process.stdout.close()
        return rest

    def stop(self, number):
        self.process.send_signal(number)
        status = self.process.wait(TIMEOUT_S)
        self.process.stdin.close()
        self.process.stdout.close()
        return status


def test_requests_overtake_a_submission(warpgym):
    """Two hang, which is all that may be judged at once; the rest goes on, and one can be taken
    back. At the end of input all are."""
    stdio = Stdio(warpgym, "--evaluations", 2).begin()
    stdio.send(submission(1, SPIN), call(2, "ping"), submission(3, SPIN.replace("i = 1", "i = 2")))
    assert stdio.receive() == {"jsonrpc": "2.0", "id": 2, "result": {}}
    wait_until(spinning, "a candidate runs")
    stdio.send(call(4, "tools/call", name="list_problems", arguments={"filter": "relu"}))
    assert stdio.receive()["id"] == 4
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled"}
    stdio.send(cancel | {"params": {"requestId": 1, "reason": "enough"}}, call(5, "ping"))
    assert stdio.receive()["id"] == 5
    rest = stdio.end()
    assert [message["id"] for message in rest] == [3] and "error" in rest[0], rest
    assert not spinning()


def test_batch(warpgym):
    stdio = Stdio(warpgym)
    stdio.send(call(0, "initialize", **INITIALIZE | {"protocolVersion": "2025-03-26"}))
    assert stdio.receive()["result"]["protocolVersion"] == "2025-03-26"
    stdio.send([submission("a", "int x"), call("b", "ping"), call("c", "nonsense")])
    answers = {message["id"]: message for message in stdio.receive()}
    assert set(answers) == {"a", "b", "c"} and answers["c"]["error"]["code"] == -32601
    statuses = [json.loads(answers["a"]["result"]["content"][1]["text"])["status"]]
    assert statuses == ["compile_error"] and not stdio.end()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal(warpgym, number):
    record = warpgym.folder / "record"
    stdio = Stdio(warpgym, "--record", record).begin()
    assert stdio.submit("int x")["status"] == "compile_error"
    stdio.send(submission(1, SPIN))
    wait_until(spinning, "a candidate runs")
    assert stdio.stop(number) == 0
    (trajectory,) = read_lines(record / "trajectories.jsonl")
    assert [turn["status"] for turn in trajectory["turns"]] == ["compile_error"]


def test_killed(warpgym):
    """The next session records a killed session's episode, once; a live one's stays open."""
    record = warpgym.folder / "record"
    lines = record / "trajectories.jsonl"
    first, living = (Stdio(warpgym, "--record", record).begin() for _ in range(2))
    assert first.submit(WRONG)["status"] == "wrong"
    assert first.submit(RIGHT)["turn"] == 1
    assert living.submit("int y")["status"] == "compile_error"
    assert first.stop(signal.SIGKILL) == -signal.SIGKILL
    assert not lines.exists()
    for _ in range(2):
        assert not Stdio(warpgym, "--record", record).end()
        (trajectory,) = read_lines(lines)
        assert [turn["status"] for turn in trajectory["turns"]] == ["wrong", "passed"]
        assert trajectory["end"] == "expired" and trajectory["model"] == "test 1"
    with lines.open("a") as file:
        file.write('{"half')  # as a kill may leave it
    assert not living.end()
    assert [len(one["turns"]) for one in read_lines(lines)] == [2, 1]
    assert not list((record / "open").iterdir())


def test_search_examples(warpgym):
    index = warpgym.folder / "index"
    assert warpgym("index", "build", "--own", "--quiet", index).status == 0
    stdio = Stdio(warpgym, "--index", index).begin()
    wanted = {"query": "matrix multiplication", "problem": "gemm", "language": "c", "count": 2}
    stdio.send(call(1, "tools/call", name="search_examples", arguments=wanted))
    result = stdio.receive()["result"]
    examples = result["structuredContent"]["examples"]
    assert not result["isError"] and len(examples) == 2, result
    for example in examples:
        assert example["language"] == "c" and example["problem"] != "gemm"
        assert example["solution"].strip() in result["content"][0]["text"]
    assert not stdio.end()


def test_bad_input(warpgym):
    for arguments, part in [
        (("mcp", "extra"), "unexpected argument 'extra'"),
        (("mcp", "--record", "/dev/null/x"), "/dev/null"),
        (("mcp", "--index", warpgym.folder / "none"), "none"),
        (("mcp", "--server", "nonsense"), "nonsense"),
        (("mcp", "--listen", "0.0.0.0:0"), "token"),
    ]:
        run = warpgym(*arguments)
        assert run.status != 0 and part in run.complaint, run
    assert warpgym("mcp", "extra").status == USAGE


# --- HTTP ----------------------------------------------------------------------------------------


class Server:
    def __init__(self, process, url):
        self.process = process
        self.url = url
        self.port = urlsplit(url).port

    def ask(self, message, headers=None, method="POST", path="/mcp"):
        """Status, headers and the answer's JSON; or of a stream, its messages."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_S)
        standard = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        body = message if isinstance(message, bytes | None) else json.dumps(message).encode()
        headers = {key: value for key, value in (standard | (headers or {})).items() if value}
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            text = response.read().decode()
        finally:
            connection.close()
        if response.getheader("Content-Type") == "text/event-stream":
            lines = [line[6:] for line in text.splitlines() if line.startswith("data: ")]
            return response.status, response.headers, [json.loads(line) for line in lines]
        return response.status, response.headers, json.loads(text) if text.strip() else None

    def session(self):
        status, headers, answer = self.ask(call(0, "initialize", **INITIALIZE))
        assert status == 200 and answer["result"]["serverInfo"]["name"] == "warpgym"
        return {"Mcp-Session-Id": headers["Mcp-Session-Id"]}


@contextlib.contextmanager
def serving(warpgym, *arguments, environment=None):
    log = warpgym.folder / "mcp.log"
    with log.open("ab") as errors:
        process = warpgym.start(
            "mcp", "--listen", "127.0.0.1:0", *arguments, stderr=errors, environment=environment
        )
    line = process.stdout.readline().decode()
    found = re.fullmatch(r"warpgym: serving MCP at (http://127\.0\.0\.1:\d+/mcp)\n", line)
    assert found, line + log.read_text()
    try:
        yield Server(process, found.group(1))
    finally:
        process.send_signal(signal.SIGTERM)
        status = process.wait(TIMEOUT_S)
        process.stdout.close()
    assert status == 0, log.read_text()


def stateless(id, method, **params):
    return call(id, method, _meta=STATELESS, **params)


def headers_of(message, **more):
    named = message["params"].get("name")
    version = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": message["method"]}
    return version | ({"Mcp-Name": named} if named else {}) | more


def test_http_token(warpgym):
    with serving(warpgym, environment={"WARPGYM_TOKEN": "secret"}) as server:
        listing = stateless(1, "tools/list")
        for token, status in [(None, 401), ("Bearer wrong", 401), ("Bearer secret", 200)]:
            headers = headers_of(listing) | {"Authorization": token}
            assert server.ask(listing, headers)[0] == status


# --- judged elsewhere ----------------------------------------------------------------------------


def test_with_a_server(warpgym):
    """A server judges; what is cancelled here is cancelled there."""
    judging = JudgingServer(warpgym, "--workers", "1", *ENDLESS, *FAST)
    try:
        stdio = Stdio(warpgym, "--server", f"http://127.0.0.1:{judging.port}").begin()
        assert stdio.submit(WRONG)["status"] == "wrong"
        stdio.send(submission(1, SPIN))
        wait_until(spinning, "a candidate runs")
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled"}
        stdio.send(cancel | {"params": {"requestId": 1}})
        result = stdio.submit(RIGHT)
        assert (result["status"], result["turn"]) == ("passed", 1), result
        assert not stdio.end() and not spinning()
    finally:
        judging.stop()


# --- one server for all that follows --------------------------------------------------------------


@pytest.fixture(scope="module")
def http_server(module_warpgym):
    with serving(module_warpgym, *ENDLESS, *FAST, "--record", "record") as server:
        yield server


def test_http_sessions(http_server, module_warpgym):
    ping = call(1, "ping")
    session, other = http_server.session(), http_server.session()
    assert session != other
    assert http_server.ask(ping, session)[::2] == (200, {"jsonrpc": "2.0", "id": 1, "result": {}})
    initialized = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert http_server.ask(initialized, session)[0] == 202
    for message, headers, status, code in [
        (ping, {}, 400, -32600),
        (ping, {"Mcp-Session-Id": "0" * 32}, 404, -32600),
        (ping, session | {"MCP-Protocol-Version": "2025-06-18"}, 200, None),
        (ping, session | {"MCP-Protocol-Version": "1999-01-01"}, 400, -32022),
        (b"{", session, 400, -32700),
        ({"jsonrpc": "2.0"}, session, 400, -32600),
        ([ping], session, 400, -32600),
        (call(1, "nonsense"), session, 200, -32601),
        (call(1, "initialize"), {}, 200, -32602),
        (ping, session | {"Content-Type": "text/plain"}, 415, None),
        (ping, session | {"Origin": "http://elsewhere.example"}, 403, None),
        (ping, session | {"Host": "elsewhere.example"}, 421, None),
    ]:
        got, _, answer = http_server.ask(message, headers)
        assert got == status, (message, headers, answer)
        assert code is None or answer["error"]["code"] == code, answer
    assert http_server.ask(None, session, "GET")[0] == 405
    result = http_server.ask(submission(2, "int x"), session)[2]["result"]["structuredContent"]
    assert result["status"] == "compile_error"
    assert http_server.ask(None, session, "DELETE")[0] == 204
    assert http_server.ask(None, session, "DELETE")[0] == 404
    assert http_server.ask(ping, session)[0] == 404
    (line,) = read_lines(module_warpgym.folder / "record" / "trajectories.jsonl")
    assert line["episode"] == result["episode"]
    history = call(1, "tools/call", name="history", arguments={"session": result["session"]})
    assert http_server.ask(history, other)[2]["result"]["isError"]


def test_http_stateless(http_server):
    listing = stateless(1, "tools/list")
    reading = stateless(1, "tools/call", name="read_problem", arguments={"problem": "relu"})
    bare = call(1, "tools/list")
    encoded = "=?base64?cmVhZF9wcm9ibGVt?="
    for message, headers, status, code in [
        (listing, headers_of(listing), 200, None),
        (listing, headers_of(listing) | {"Mcp-Method": "ping"}, 400, -32020),
        (listing, headers_of(listing) | {"Mcp-Method": None}, 400, -32020),
        (listing, {"Mcp-Method": "tools/list"}, 400, -32020),
        (bare, headers_of(listing), 400, -32602),
        (reading, headers_of(reading), 200, None),
        (reading, headers_of(reading) | {"Mcp-Name": encoded}, 200, None),
        (reading, headers_of(reading) | {"Mcp-Name": encoded.replace("c", "d", 1)}, 400, -32020),
        (reading, headers_of(reading) | {"Mcp-Name": "submit"}, 400, -32020),
        (stateless(1, "ping"), headers_of(stateless(1, "ping")), 404, -32601),
    ]:
        got, reply_headers, answer = http_server.ask(message, headers)
        assert got == status and "Mcp-Session-Id" not in reply_headers, (message, answer)
        assert code is None or answer["error"]["code"] == code, answer
    future = dict(STATELESS) | {"io.modelcontextprotocol/protocolVersion": "2099-01-01"}
    message = call(1, "tools/list", _meta=future)
    headers = {"MCP-Protocol-Version": "2099-01-01", "Mcp-Method": "tools/list"}
    status, _, answer = http_server.ask(message, headers)
    assert (status, answer["error"]["code"]) == (400, -32022)
    assert "2026-07-28" in answer["error"]["data"]["supported"]


def test_http_stream(http_server):
    """A client that follows a submission gets events, the last of which is the answer; hanging up
    in the middle cancels the submission."""
    meta = STATELESS | {"progressToken": 7, "io.modelcontextprotocol/logLevel": "info"}
    message = submission(1, "int x", _meta=meta)
    status, _, messages = http_server.ask(message, headers_of(message))
    assert status == 200 and messages[-1]["result"]["resultType"] == "complete"
    methods = {one["method"] for one in messages[:-1]}
    assert methods == {"notifications/progress", "notifications/message"}
    assert all(one["params"].get("progressToken", 7) == 7 for one in messages[:-1])
    connection = http.client.HTTPConnection("127.0.0.1", http_server.port, timeout=TIMEOUT_S)
    endless = submission(2, SPIN, _meta=STATELESS)
    headers = headers_of(endless) | {"Content-Type": "application/json"}
    connection.request("POST", "/mcp", json.dumps(endless), headers)
    wait_until(spinning, "a candidate runs")
    connection.close()
    wait_until(lambda: not spinning(), "it is cancelled")
