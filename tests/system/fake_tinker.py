"""A Tinker server that really trains: the protocol in front of tests/policy/learner_probe.

    with FakeTinker(model_directory, tmp_path) as server:
        server.faults = [Fault("/api/v1/asample", "status", 429, times=2)]

Each model of the protocol is a process of its own, with an adapter whose alpha is ALPHA. What was
asked is kept in `server.calls` as (path, body). A fault is taken by the first requests of its path:

    status   that status, with `body`, and nothing is done
    drop     the connection is closed without an answer; with `after`, when it was done
    hang     no answer, as long as the server lives
    again    (of a poll) try_again
    junk     a success whose body is `body`
    until    it is done when `until` is true

With `skyrl` it does as SkyRL's server does: one model at a time, failures of promises as 400, no
names twice, and neither metrics nor long polls.
"""

import http.server
import json
import pathlib
import subprocess
import threading

from support import HOUSE, wait_until

PROBE = HOUSE / "build" / "tests" / "policy" / "learner_probe"
ALPHA = 32
KEY = "tml-secret-of-the-tests"
BASE = "base/tiny"


class Probe:
    """A learner behind pipes. Threads take turns."""

    def __init__(self, kind, model, *options, environment=None):
        self.lock = threading.Lock()
        self.process = subprocess.Popen(
            [PROBE, kind, model, *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
        )
        self.first = json.loads(self.process.stdout.readline())

    def __enter__(self):
        assert self.first.get("ready"), self.first
        return self

    def __exit__(self, *exception):
        self.close()

    def ask(self, do, **values):
        with self.lock:
            self.process.stdin.write(json.dumps({"do": do, **values}).encode() + b"\n")
            self.process.stdin.flush()
            return json.loads(self.process.stdout.readline())

    def must(self, do, **values):
        answer = self.ask(do, **values)
        assert "error" not in answer, answer
        return answer

    def close(self):
        """What it wrote to standard error."""
        if not self.process.stdin.closed:
            self.process.stdin.close()
            self.words = self.process.stderr.read().decode()
            self.process.stdout.close()
            self.process.stderr.close()
            self.process.wait()
        return self.words


class Fault:
    def __init__(
        self, path, kind, status=0, body="{}", *, times=1, after=False, headers=(), until=None
    ):
        self.path, self.kind, self.status, self.body = path, kind, status, body
        self.times, self.after, self.headers, self.until = times, after, headers, until


class Refused(Exception):
    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


class Model:
    def __init__(self, probe, rank):
        self.probe, self.rank, self.version, self.requests = probe, rank, 0, 0


class FakeTinker:
    def __init__(self, directory, folder, skyrl=False, config=None, key=None):
        self.directory, self.folder = pathlib.Path(directory), pathlib.Path(folder)
        self.skyrl, self.key = skyrl, key
        self.config = {"pjwt_auth_enabled": False} if config is None else config
        self.faults, self.calls = [], []
        self.promises, self.asked, self.models, self.samplers = {}, {}, {}, {}
        self.checkpoints, self.sessions = {}, []
        self.keeps = False  # what it has
        config = json.loads((self.directory / "config.json").read_text())
        self.context = config["max_position_embeddings"]
        self.lock = threading.Lock()  # of the faults and calls
        self.work = threading.RLock()
        self.ended = threading.Event()

    def __enter__(self):
        fake = self

        class Handler(_Handler):
            server_of_all = fake

        self.server = _Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *exception):
        self.ended.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
        for model in self.models.values():
            model.probe.close()

    def count(self, path):
        return sum(called == path for called, _ in self.calls)

    def fault_of(self, path):
        with self.lock:
            for fault in self.faults:
                if fault.path == path and fault.times > 0:
                    fault.times -= 1
                    return fault
        return None

    # --- what is promised ---

    def promise(self, key, run):
        """The id of what `run` gives; the same for a key that was asked for before."""
        with self.work:
            if key not in self.asked:
                number = str(len(self.promises) + 1)
                self.asked[key] = number
                try:
                    self.promises[number] = (200, run())
                except Refused as refused:
                    self.promises[number] = (refused.status, {"detail": str(refused)})
            return {"request_id": self.asked[key]}

    def retrieve(self, body):
        if body["request_id"] not in self.promises:
            raise Refused(404, "no such request")
        status, result = self.promises[body["request_id"]]
        if status == 200:
            return result
        if self.skyrl:
            raise Refused(400, result["detail"])
        return {"error": result["detail"], "category": "user"}

    # --- models ---

    def model_of(self, body):
        if body["model_id"] not in self.models:
            raise Refused(404, f"no model {body['model_id']}")
        return self.models[body["model_id"]]

    def create_model(self, body):
        lora = body["lora_config"]
        if self.skyrl and self.models:
            raise Refused(400, "there is a model already")
        if body["base_model"] != BASE:
            raise Refused(400, f"no model {body['base_model']}")
        options = [f"rank={lora['rank']}", f"seed={lora['seed']}", f"alpha={ALPHA}", "backend=cpu"]
        name = f"model_{len(self.asked):08x}"
        self.models[name] = Model(Probe("engine", self.directory, *options), lora["rank"])
        return {"model_id": name, "type": "create_model"}

    def unload_model(self, body):
        self.model_of(body).probe.close()
        del self.models[body["model_id"]]
        return {"model_id": body["model_id"], "type": "unload_model"}

    def numbered(self, body, run):
        """Requests of a model are done once, in order."""
        model = self.model_of(body)

        def once():
            if not self.skyrl:
                assert body["seq_id"] == model.requests + 1, (body, model.requests)
            model.requests = body["seq_id"]
            return run(model)

        return self.promise((body["model_id"], body["seq_id"]), once)

    def told(self, answer):
        if "error" in answer:
            raise Refused(400, answer["error"])
        return answer

    def forward(self, body, gradients):
        given = body["forward_backward_input" if gradients else "forward_input"]
        config = given.get("loss_fn_config", {})
        renamed = {key.replace("_threshold", ""): value for key, value in config.items()}
        datums = []
        for datum in given["data"]:
            inputs = datum["loss_fn_inputs"]
            tokens = [i for chunk in datum["model_input"]["chunks"] for i in chunk["tokens"]]
            for name, tensor in inputs.items():
                assert tensor["shape"] == [len(tokens)] == [len(tensor["data"])], name
                assert tensor["dtype"] == ("int64" if name == "target_tokens" else "float32")
            values = {name: tensor["data"] for name, tensor in inputs.items()}
            renames = {"target_tokens": "targets", "logprobs": "sampled"}
            datums.append(
                {"tokens": tokens} | {renames.get(k, k): v for k, v in values.items()},
            )

        def run(model):
            answer = self.told(
                model.probe.ask(
                    "pass",
                    datums=datums,
                    loss=given["loss_fn"],
                    config=renamed,
                    gradients=gradients,
                )
            )
            outputs = [
                {"logprobs": {"data": row, "dtype": "float32", "shape": [len(row)]}}
                for row in answer["logprobs"]
            ]
            if self.skyrl:
                for output in outputs:
                    output["elementwise_loss"] = output["logprobs"]
            metrics = {} if self.skyrl else {"loss:sum": answer["loss"]}
            kind = "scalar" if self.skyrl else "array"
            return {"loss_fn_output_type": kind, "loss_fn_outputs": outputs, "metrics": metrics}

        return self.numbered(body, run)

    def optim_step(self, body):
        adam = body["adam_params"]
        values = {
            "rate": adam["learning_rate"],
            "beta1": adam["beta1"],
            "beta2": adam["beta2"],
            "epsilon": adam["eps"],
            "decay": adam["weight_decay"],
            "clip": adam["grad_clip_norm"],
        }

        def run(model):
            norm = self.told(model.probe.ask("step", **values))["norm"]
            return {"metrics": {"skyrl.ai/grad_norm" if self.skyrl else "grad_norm": norm}}

        return self.numbered(body, run)

    # --- sampling ---

    def freeze(self, body):
        def run(model):
            self.told(model.probe.ask("refresh"))
            model.version += 1
            name = f"{body['model_id']}_sample_{body['sampling_session_seq_id']}"
            self.samplers[name] = (model, model.version)
            if self.skyrl:
                return {"path": None, "sampling_session_id": name}
            self.checkpoints[f"tinker://{name}"] = name
            return {"path": f"tinker://{name}", "type": "save_weights_for_sampler"}

        return self.numbered(body, run)

    def create_sampling_session(self, body):
        return {"sampling_session_id": self.checkpoints[body["model_path"]]}

    def asample(self, body):
        name, given = body["sampling_session_id"], body["sampling_params"]
        if name not in self.samplers:
            raise Refused(404, f"no sampler {name}")
        model, version = self.samplers[name]

        def run():
            if version != model.version:
                raise Refused(400, f"{name} is a sampler of weights that are gone")
            ids = [i for chunk in body["prompt"]["chunks"] for i in chunk["tokens"]]
            wanted = {key: given[key] for key in ("max_tokens", "temperature", "top_p", "seed")}
            answers = model.probe.ask("sample", prompts=[{"ids": ids, **wanted}])["answers"]
            answer = self.told(answers[0])
            reason = "stop" if answer["stopped"] else "length"
            sequence = {"stop_reason": reason} | {k: answer[k] for k in ("tokens", "logprobs")}
            return {"sequences": [sequence], "prompt_cache_hit_tokens": 0}

        return self.promise((name, body["seq_id"]), run)

    # --- checkpoints ---

    def save_weights(self, body):
        path = f"tinker://{body['model_id']}/weights/{body['path']}"
        if path in self.checkpoints:
            raise Refused(409, "there is a checkpoint of that name")

        def run(model):
            name = f"{body['model_id']}-{body['path']}"
            where = model.probe.must("save", directory=str(self.folder), name=name)["where"]
            self.checkpoints[path] = (where, model.rank)
            return {"path": path, "type": "save_weights"}

        return self.numbered(body, run)

    def load_weights(self, body):
        def run(model):
            if body["seq_id"] != 1:
                raise Refused(400, "LoadWeights is not permitted now")
            where, _ = self.checkpoints[body["path"]]
            optimizer = body["optimizer"]
            self.told(
                model.probe.ask(
                    "load", directory=str(self.folder), where=where, optimizer=optimizer
                )
            )
            return {"path": body["path"], "type": "load_weights"}

        return self.numbered(body, run)

    def weights_info(self, body):
        if body["tinker_path"] not in self.checkpoints:
            raise Refused(404, "there is no such checkpoint")
        rank = self.checkpoints[body["tinker_path"]][1]
        return {"base_model": BASE, "is_lora": True, "lora_rank": rank}

    def forget(self, path):
        parts = path.split("/")
        if self.keeps:
            raise Refused(403, "checkpoints are for ever")
        if not self.checkpoints.pop(f"tinker://{parts[4]}/weights/{parts[7]}", None):
            raise Refused(404, "there is no such checkpoint")

    # --- all of it ---

    def create_session(self, body):
        self.sessions.append(body)
        return {"session_id": f"session-{len(self.sessions)}", "type": "create_session"}

    def answer(self, path, body):
        name = path.removeprefix("/api/v1/")
        direct = {
            "client/config": lambda: self.config,
            "get_server_capabilities": lambda: {
                "supported_models": [{"model_name": BASE, "max_context_length": self.context}]
            },
            "create_session": lambda: self.create_session(body),
            "session_heartbeat": lambda: {"type": "session_heartbeat"},
            "retrieve_future": lambda: self.retrieve(body),
            "create_sampling_session": lambda: self.create_sampling_session(body),
            "weights_info": lambda: self.weights_info(body),
            "create_model": lambda: self.promise(
                (body["session_id"], body["model_seq_id"]), lambda: self.create_model(body)
            ),
            "unload_model": lambda: self.promise(
                ("unload", body["model_id"]), lambda: self.unload_model(body)
            ),
            "forward_backward": lambda: self.forward(body, True),
            "forward": lambda: self.forward(body, False),
            "optim_step": lambda: self.optim_step(body),
            "save_weights_for_sampler": lambda: self.freeze(body),
            "save_weights": lambda: self.save_weights(body),
            "load_weights": lambda: self.load_weights(body),
            "asample": lambda: self.asample(body),
        }
        if name not in direct:
            raise Refused(404, "Not Found")
        return direct[name]()


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request, client_address):
        pass  # the other side may well be gone


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server_of_all = None

    def log_message(self, *words):
        pass

    def send(self, status, text, headers=()):
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def work(self, body):
        fake = self.server_of_all
        if fake.key and self.headers.get("X-API-Key") != fake.key:
            return 401, json.dumps({"detail": f"{self.headers.get('X-API-Key')} is no key"})
        try:
            return 200, json.dumps(fake.answer(self.path, body))
        except Refused as refused:
            return refused.status, json.dumps({"detail": str(refused)})
        except Exception as problem:  # a defect of the test's or of ours: said, not swallowed
            return 422, json.dumps({"detail": repr(problem)})

    def do_POST(self):
        fake = self.server_of_all
        data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = json.loads(data) if data else {}
        fault = fake.fault_of(self.path)
        with fake.lock:
            fake.calls.append((self.path, body))
        if fault and fault.kind == "hang":
            fake.ended.wait()
        if fault and fault.kind == "until":
            wait_until(fault.until, f"what {self.path} waits for")
            fault = None
        if fault and fault.kind == "status":
            self.send(fault.status, fault.body, fault.headers)
            return
        if fault and fault.kind == "again":
            self.send(200, json.dumps({"type": "try_again", "queue_state": "paused_capacity"}))
            return
        if fault and fault.kind == "junk":
            self.send(200, fault.body)
            return
        if fault and (fault.kind == "hang" or not fault.after):
            self.close_connection = True
            return
        status, text = self.work(body)
        if fault and fault.kind == "drop":
            self.close_connection = True
            return
        self.send(status, text)

    do_GET = do_POST

    def do_DELETE(self):
        fake = self.server_of_all
        with fake.lock:
            fake.calls.append((self.path, {}))
        try:
            fake.forget(self.path)
        except Refused as refused:
            self.send(refused.status, json.dumps({"detail": str(refused)}))
            return
        self.send_response(204)
        self.end_headers()
