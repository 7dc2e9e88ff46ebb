"""`warpgym lm serve --tinker` on a free port, and a client of a few lines."""

import http.client
import json
import signal
import struct
from urllib.parse import urlsplit

import support

API = "/api/v1/"
PROTOBUF = "application/x-protobuf"


class TinkerServer:
    def __init__(self, warpgym, model, folder, *pairs, wrapper=()):
        self.warpgym, self.model, self.folder, self.pairs = (
            warpgym,
            str(model),
            folder,
            pairs,
        )
        self.wrapper = wrapper
        self.start()

    def start(self, listen="127.0.0.1:0"):
        settings = [word for pair in self.pairs for word in ("-s", pair)]
        self.process = self.warpgym.start(
            "lm", "serve", "-l", listen, "--name", self.model, "--tinker", self.folder,
            "--threads", "1", *settings, self.model, wrapper=self.wrapper,
        )  # fmt: skip
        self.process.stdout.readline()
        line = self.process.stdout.readline().decode()
        assert line.startswith("warpgym: TINKER_BASE_URL=http://127.0.0.1:"), line
        self.url = line.split("=", 1)[1].split(",")[0]
        self.port = urlsplit(self.url).port

    def restart(self, kill=True):
        """kill -9, and the same again."""
        if kill:
            support.kill(self.process.pid)
        self.warpgym.finish(self.process)
        self.start(f"127.0.0.1:{self.port}")

    def stop(self):
        """The process after a Ctrl-C."""
        self.process.send_signal(signal.SIGINT)
        return self.warpgym.finish(self.process)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.warpgym.finish(self.process)

    # --- requests ---

    def send(self, method, path, body=None, headers=None):
        """Status and bytes."""
        connection = http.client.HTTPConnection(
            "127.0.0.1", self.port, timeout=support.TIMEOUT_S
        )
        headers = {"Content-Type": "application/json"} | (headers or {})
        data = json.dumps(body) if isinstance(body, dict) else body
        try:
            connection.request(method, path, data, headers)
            reply = connection.getresponse()
            self.headers = dict(reply.getheaders())
            return reply.status, reply.read()
        finally:
            connection.close()

    def ask(self, path, body=None, method=None, headers=None):
        status, data = self.send(method or ("POST" if body is not None else "GET"),
                                 API + path, body, headers)  # fmt: skip
        return status, json.loads(data) if data else None

    def must(self, path, body=None, **options):
        status, answer = self.ask(path, body, **options)
        assert status == 200, (path, status, answer)
        return answer

    def refused(self, words, path, body=None, status=400, **options):
        found, answer = self.ask(path, body, **options)
        message = answer["error"]["message"] if "error" in answer else answer
        assert found == status and words in message, (found, answer)

    def result(self, future):
        for _ in range(10):
            answer = self.must("retrieve_future", {"request_id": future["request_id"]})
            if answer.get("type") != "try_again":
                return answer
        raise AssertionError("no result")

    def do(self, path, body, **options):
        return self.result(self.must(path, body, **options))

    def session(self):
        body = {"tags": [], "sdk_version": "0.24", "type": "create_session"}
        return self.must("create_session", body)["session_id"]

    def model_of(self, session, number=0, rank=4, seed=3):
        body = {
            "session_id": session, "model_seq_id": number, "base_model": self.model,
            "lora_config": {"rank": rank, "seed": seed},
        }  # fmt: skip
        return self.do("create_model", body)["model_id"]

    def sampler_of(self, session, number=0, **options):
        body = {"session_id": session, "sampling_session_seq_id": number} | options
        return self.must("create_sampling_session", body)["sampling_session_id"]


def tensor(values, dtype="float32", shape=None):
    return {"data": values, "dtype": dtype, "shape": shape or [len(values)]}


def prompt_of(tokens):
    return {"chunks": [{"type": "encoded_text", "tokens": tokens}]}


def text_datum(tokens, weights=None):
    inputs = {
        "target_tokens": tensor(tokens[1:], "int64"),
        "weights": tensor(weights or [1.0] * (len(tokens) - 1)),
    }
    return {"model_input": prompt_of(tokens[:-1]), "loss_fn_inputs": inputs}


def pass_of(model, number, *datums, loss="cross_entropy", **more):
    given = {"data": list(datums), "loss_fn": loss} | more
    return {"model_id": model, "seq_id": number, "forward_backward_input": given}


def step_of(model, number, **adam):
    return {
        "model_id": model,
        "seq_id": number,
        "adam_params": {"learning_rate": 0.01} | adam,
    }


def logprobs_of(result):
    return [output["logprobs"]["data"] for output in result["loss_fn_outputs"]]


def floats(data):
    return list(struct.unpack(f"<{len(data) // 4}f", data))
