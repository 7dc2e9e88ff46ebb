"""Runs for the dashboard, and a server of it: of `warpgym serve`, or of `runs watch --web`."""

import contextlib
import json
import signal
import subprocess
from urllib.parse import urlsplit

import browser
import support
import verdicts
from serving import Server

WRITER = support.WARPGYM.parent / "build" / "tests" / "rl" / "write_run"
# What a model may write to reach beyond its text.
HOSTILE = (
    "</script></textarea></pre><script>document.body.dataset.owned=1</script>"
    '<img src=x onerror="document.body.dataset.owned=1">\u202egnp.exe\u2066 {{x}} \x1b[31m'
)


def write(directory, steps, *settings):
    directory.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        [WRITER, directory, str(steps), "0", *settings], check=True, timeout=60
    )


def verdict(status="passed", speedup=2.0, **more):
    timing = {"candidate": {"median": 1.5}, "reference": {"median": 1.5 * speedup}}
    timing |= {"speedup": speedup, "speedup_interval": [0.9 * speedup, 1.1 * speedup]}
    timing |= {"meaningful": True}
    kernels = [
        {"name": "softmax_kernel", "launches": 10, "time_us": 900.0, "own": True},
        {"name": "memset", "launches": 2, "time_us": 100.0, "own": False},
    ]
    part = {
        "schema": 1,
        "problem": {"id": "softmax", "format": "native"},
        "status": status,
        "candidate": {"language": "c"},
        "timing": timing if status == "passed" else None,
        "profile": {
            "kernels": kernels,
            "own_time_fraction": 0.9,
            "own_launch_fraction": 0.83,
        },
        "stages_ms": {
            "queue": 1.0,
            "compile": 80.0,
            "load": 4.0,
            "check": 10.0,
            "time": 30.0,
        },
        "integrity": {"violations": [], "warnings": []},
    }
    return verdicts.whole(part | more)


def trace(
    step, problem="relu", rollout=0, turn=0, *, reward=0.5, status="passed", **more
):
    code = f"void solution(const float *x)\n{{\n    int turn = {turn};\n}}\n"
    line = {
        "step": step,
        "problem": problem,
        "rollout": rollout,
        "turn": turn,
        "policy_version": step,
        "prompt": [{"role": "user", "content": f"Write {problem}."}],
        "answer": f"<think>I count to {turn}.</think>\n```c\n{code}```\n",
        "status": status,
        "verdict": None if status == "no_code" else verdict(status),
        "reward": reward,
        "reward_parts": {"format": 1, "correctness": 0.3, "speed": 0.2},
        "speedup": 2.0 if status == "passed" else None,
    }
    return line | more


def add_traces(directory, traces, mode="a"):
    with (directory / "traces.jsonl").open(mode, encoding="utf-8") as file:
        for line in traces:
            file.write(
                line if isinstance(line, str) else json.dumps(line, ensure_ascii=False)
            )
            file.write("\n")


class Watch:
    """`warpgym runs watch --web`."""

    ask, get, connect, url = Server.ask, Server.get, Server.connect, Server.url

    def __init__(self, warpgym, *arguments, token=None, **options):
        self.token = token
        self.log = (warpgym.folder / "watch.log").open("ab")
        self.process = warpgym.start(
            "runs", "watch", "--web", *arguments, stderr=self.log, **options
        )
        self.first_line = self.process.stdout.readline().decode()
        assert self.first_line.startswith("warpgym: the dashboard is at http://"), (
            self.first_line
        )
        self.port = urlsplit(self.first_line.split()[-1]).port

    def stop(self, number=signal.SIGINT):
        return Server.stop(self, number)


@contextlib.contextmanager
def watching(warpgym, *arguments, **options):
    watch = Watch(warpgym, *arguments, **options)
    try:
        yield watch
    finally:
        assert watch.stop() == 0, (warpgym.folder / "watch.log").read_text(
            encoding="utf-8"
        )


@contextlib.contextmanager
def page_of(server, place="", ready=None, **options):
    """Its page in Chromium; at the end nothing was complained of, and nothing else asked for."""
    with browser.Browser(**options) as page:
        go(page, server, place, ready)
        yield page
        assert page.value("document.body.dataset.owned") is None
        assert page.value("document.images.length") == 0
        assert page.complaints == []
        hosts = {urlsplit(address).netloc for address in page.requests}
        assert hosts == {f"127.0.0.1:{server.port}"}


def go(page, server, place, ready=None):
    """Opens a view; within the page, as a link does."""
    if page.value("location.origin") == server.url:
        page.value("delete document.documentElement.dataset.ready")
        page.value(f"location.hash = {json.dumps(place)}")
    else:
        page.open(f"{server.url}/{place}")
    if ready:
        page.until(f"document.documentElement.dataset.ready === '{ready}'")
        page.settle()
