"""Debian's Chromium over the pipe of its DevTools protocol: for tests of pages, and pictures."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

PROGRAM = shutil.which("chromium")
# Its own sandbox wants rights that a container has not.
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--disable-extensions"]
LOUD = ("error", "warning", "assert")  # kinds of console messages that are complaints


class Browser:
    """One page. What it complains of, or asks for from elsewhere, is kept."""

    def __init__(self, width=1280, height=1500, dark=False):
        self.profile = tempfile.mkdtemp(prefix="warpgym-chromium-")
        self.log = Path(self.profile, "log")
        answers, child_answers = os.pipe()
        child_commands, self.commands = os.pipe()
        # It reads commands from descriptor 3 and answers on 4, each message ended by a NUL.
        line = f'exec "$@" 3<&{child_commands} 4>&{child_answers}'
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                ["bash", "-c", line, "bash", PROGRAM, *FLAGS]
                + ["--remote-debugging-pipe", f"--user-data-dir={self.profile}", "about:blank"],
                pass_fds=(child_commands, child_answers),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        os.close(child_commands)
        os.close(child_answers)
        self.answers = os.fdopen(answers, "rb", buffering=0)
        self.rest, self.events, self.sent, self.session = b"", [], 0, None
        self.complaints, self.requests = [], []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.commands)  # it ends by itself then
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.answers.close()
        shutil.rmtree(self.profile, ignore_errors=True)

    def _message(self):
        while b"\0" not in self.rest:
            piece = self.answers.read(1 << 20)
            if not piece:
                raise RuntimeError(f"chromium ended: {self.log.read_text()[-2000:]}")
            self.rest += piece
        text, _, self.rest = self.rest.partition(b"\0")
        return json.loads(text)

    def _note(self, event):
        name, params = event.get("method"), event.get("params", {})
        self.events.append(name)
        if name == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(params["exceptionDetails"])[:500])
        elif name == "Log.entryAdded":
            self.complaints.append(params["entry"]["text"])
        elif name == "Runtime.consoleAPICalled" and params["type"] in LOUD:
            self.complaints.append(json.dumps(params["args"])[:500])
        elif name == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])

    def call(self, method, **parameters):
        self.sent += 1
        message = {"id": self.sent, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == self.sent:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self._note(answer)

    def open(self, url):
        """Goes there and waits for the page to be whole."""
        self.events.clear()
        self.call("Page.navigate", url=url)
        while "Page.loadEventFired" not in self.events:
            self._note(self._message())
        self.settle()

    def settle(self):
        """Two frames later everything that was asked for is on the screen."""
        self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def value(self, script):
        """What a piece of JavaScript comes to."""
        answer = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"])[:1000])
        return answer["result"].get("value")

    def until(self, script, seconds=20):
        """Waits until it is true."""
        deadline = time.monotonic() + seconds
        while not self.value(script):
            assert time.monotonic() < deadline, f"never true: {script}"
            time.sleep(0.02)

    def picture(self):
        """The window as PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
