"""A service of several processes on one machine, to be killed at random: Redis with its append-only
file or one SQLite file, servers without workers, workers. Every process is ours, and ended by its
number; each may be started again on the same store."""

import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "system"))
from support import WARPGYM, free_port, kill, wait_until  # noqa: E402 - its directory had to be named first

CLOCK = WARPGYM.parent / "build" / "tests" / "fake" / "clock.so"
START_S = 60
ANSWER_S = 90
LEASE_MS = 1500


def answers(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


class Network:
    """A host of its own behind a cable that can be pulled: a network namespace and a veth pair."""

    def __init__(self):
        self.name = f"wg{os.getpid()}"
        subnet = f"10.231.{os.getpid() >> 6 & 255}"  # other tests run beside this one
        first = (os.getpid() & 63) * 4
        self.here, self.there = f"{subnet}.{first + 1}", f"{subnet}.{first + 2}"
        self.inside = ["ip", "netns", "exec", self.name]
        self.run("netns", "add", self.name)
        self.run("link", "add", self.name, "type", "veth", "peer", f"{self.name}p")
        self.run("link", "set", f"{self.name}p", "netns", self.name)
        self.run("address", "add", f"{self.here}/30", "dev", self.name)
        self.run("link", "set", self.name, "up")
        self.run("-n", self.name, "address", "add", f"{self.there}/30", "dev", f"{self.name}p")
        self.run("-n", self.name, "link", "set", f"{self.name}p", "up")
        self.run("-n", self.name, "link", "set", "lo", "up")

    @staticmethod
    def run(*words):
        subprocess.run(["ip", *words], check=True, capture_output=True, timeout=30)

    @staticmethod
    def why_not():
        """Why there can be none here, or None."""
        if not shutil.which("ip"):
            return "no ip command here (./setup.sh installs iproute2)"
        probe = subprocess.run(
            ["unshare", "--net", "true"], capture_output=True, timeout=30, check=False
        )
        return None if probe.returncode == 0 else "no right to make a network namespace"

    def pull(self):
        self.run("link", "set", self.name, "down")

    def plug(self):
        self.run("link", "set", self.name, "up")

    def close(self):
        subprocess.run(["ip", "netns", "del", self.name], check=False, timeout=30)
        subprocess.run(
            ["ip", "link", "del", self.name], check=False, timeout=30, capture_output=True
        )


class Cluster:
    def __init__(self, folder, store, servers=1, workers=0, slots=2, network=None, **special):
        """`network`: workers run there, and find Redis at its address. Special: `place` of a SQLite
        file; `prefix` of the commands of some."""
        self.folder, self.store, self.slots = Path(folder), store, slots
        self.network, self.special = network, special
        self.environment = {
            key: value for key, value in os.environ.items() if not key.startswith("WARPGYM_")
        }
        for name in ("home", "state", "cache", "redis"):
            (self.folder / name).mkdir(exist_ok=True)
        self.environment |= {
            "HOME": str(self.folder / "home"),
            "XDG_STATE_HOME": str(self.folder / "state"),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
            "LC_ALL": "C.UTF-8",
        }
        if special.get("clock"):
            self.environment |= {
                **{"LD_PRELOAD": str(CLOCK), "FAKE_CLOCK": str(self.folder / "clock")},
                "ASAN_OPTIONS": "verify_asan_link_order=0",  # where there is one, it is not first
            }
        self.redis_port = free_port() if store == "redis" else None
        self.queue = (
            f"redis://127.0.0.1:{self.redis_port}"
            if store == "redis"
            else f"sqlite:{special.get('place', self.folder)}/queue.db"
        )
        self.processes, self.lives = {}, {}
        self.ports = {}
        if store == "redis":
            self.start("redis")
        for index in range(servers):
            self.ports[f"server{index}"] = free_port()
            self.start(f"server{index}")
        for index in range(workers):
            if not network:
                self.ports[f"worker{index}"] = free_port()
            self.start(f"worker{index}")

    def command(self, name):
        settings = [
            *("-s", f"queue.lease_ms={LEASE_MS}", "-s", "worker.heartbeat_ms=300ms"),
            *("-s", "gpu.driver=/nonexistent/libcuda.so", "-s", "run.threads=1"),
            *("-s", "queue.attempts=50"),  # this many deaths are unusual
        ]
        if name == "redis":
            place = self.folder / "redis"
            durable = ["--appendonly", "yes", "--appendfsync", "always", "--save", ""]
            port = ["--port", str(self.redis_port), "--dir", str(place)]
            hosts = [self.network.here] if self.network else []
            open_to = ["--bind", "127.0.0.1", *hosts, "--protected-mode", "no"]
            return ["redis-server", *port, *open_to, *durable]
        common = ["--queue", self.queue, *settings]
        if name.startswith("server"):
            listen = ["--listen", f"127.0.0.1:{self.ports[name]}", "--workers", "none"]
            prefix = self.special.get("prefix", {}).get(name, [])
            return [*prefix, str(WARPGYM), "serve", *listen, *common]
        self.lives[name] = self.lives.get(name, 0) + 1
        called = ["--name", f"{name}-{self.lives[name]}"]
        worker = [str(WARPGYM), "worker", *called, "--slots", str(self.slots), *common]
        if not self.network:
            return [*worker, "--listen", f"127.0.0.1:{self.ports[name]}"]
        worker[worker.index(self.queue)] = f"redis://{self.network.here}:{self.redis_port}"
        return [*self.network.inside, *worker]

    def start(self, name):
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                self.command(name),
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        port = self.redis_port if name == "redis" else self.ports.get(name)
        if port:
            wait_until(lambda: answers(port) or self.processes[name].poll() is not None, name)
        if self.processes[name].poll() is not None:
            raise AssertionError(f"{name} ended at once: {self.log(name)}")

    def set_clock(self, seconds):
        """Everybody's wall clock, by so much off the machine's."""
        new = self.folder / "clock.new"
        new.write_text(f"{seconds}\n", encoding="utf-8")
        new.rename(self.folder / "clock")

    def log(self, name):
        return (self.folder / f"{name}.log").read_text(encoding="utf-8", errors="replace")[-2000:]

    def kill(self, name):
        kill(self.processes[name].pid)
        self.processes[name].wait(timeout=START_S)

    def stop(self, name, seconds=START_S):
        self.processes[name].send_signal(signal.SIGTERM)
        return self.processes[name].wait(timeout=seconds)

    def close(self):
        for process in self.processes.values():
            if process.poll() is None:
                kill(process.pid)
                process.wait(timeout=START_S)

    # --- as a client ---------------------------------------------------------------------------

    def request(self, *what, **how):
        """(status, answer); OSError where the server is not there, or dies."""
        return self.look(*what, **how)[:2]

    def look(self, method, path, body=None, server="server0", seconds=ANSWER_S):
        """The same, and the headers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.ports[server], timeout=seconds)
        try:
            text = None if body is None else json.dumps(body)
            headers = {"Content-Type": "application/json"} if text else {}
            connection.request(method, path, text, headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or b"null"), answer.headers
        except (http.client.HTTPException, json.JSONDecodeError) as error:
            raise ConnectionError(str(error)) from error
        finally:
            connection.close()

    def state(self, name):
        return self.request("GET", f"/v1/evaluations/{name}")[1]["state"]

    def begin_endless(self, name, timeout):
        """An evaluation that runs until that time is over."""
        body = evaluation(name)
        body["candidate"]["source"] = ENDLESS % "endless"
        body["settings"] = {"run.timeout_ms": timeout}
        self.request("POST", "/v1/evaluations", body)
        wait_until(lambda: self.state(name) == "running", "it runs")

    def insist(self, method, path, body=None, servers=("server0",), seconds=ANSWER_S):
        """As a client that retries does: until one of the servers gives an answer that stands."""
        deadline = time.monotonic() + seconds
        turn = 0
        while True:
            server = servers[turn % len(servers)]
            turn += 1
            with contextlib.suppress(OSError):
                status, answer = self.request(method, path, body, server, seconds)
                if status < 500 and status != 429:
                    return status, answer
            assert time.monotonic() < deadline, f"{method} {path} was never answered"
            time.sleep(0.02)


RIGHT = """#include <stddef.h>
/* %s */
void solution(const float *x, float *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] > 0 ? x[i] : 0;
}
"""
WRONG = RIGHT.replace("? x[i]", "? 2 * x[i]")
ENDLESS = RIGHT.replace("for (size_t i = 0; i < n; i++)", "for (volatile size_t i = 0;; i &= 1)")
CRASHES = RIGHT.replace("x[i] > 0 ? x[i] : 0", "*(volatile float *)i")
SOURCES = {"passed": RIGHT, "wrong": WRONG, "runtime_error": CRASHES}


def evaluation(name, outcome="passed", **more):
    return {
        "id": name,
        "problem": {"id": "relu"},
        "candidate": {"source": SOURCES[outcome] % outcome},
        "timing": False,
        "settings": {"run.timeout_ms": "20s"},
        **more,
    }
