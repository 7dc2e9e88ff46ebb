"""A Tinker server that really trains: the protocol in front of tests/policy/train_backend_probe.

    with FakeTinker(model_directory, tmp_path) as server:
        server.faults = [Fault("/api/v1/asample", "status", 429, times=2)]

Each model of the protocol is a process of its own, with an adapter whose alpha is ALPHA. What was
asked is kept in `server.calls` as (path, body). Requests of a model are done once, in the order of
their numbers: one that leaves a number out is refused (400), and so is another one with a number
that was there before (409).

A fault is taken by the first requests of its path, behind the `skip` first ones; one with `of`
by polls for what that path has a future of:

    status   that status, with `body`, and nothing is done
    drop     the connection is closed without an answer; with `after`, when it was done
    hang     no answer, until the fault is taken back
    again    (of a poll) try_again
    junk     a success whose body is `body`
    call     `call` is called; then it is done

A server may `leave` its address and `come_back`, and `restart`: then all that it has left are
checkpoints.

With `skyrl` it does as SkyRL's server on JAX does: a description at its root, at most ADAPTERS
models of at most MAX_RANK, failures of futures as 400, no names twice, no numbers of saves and
loads, neither metrics of passes nor long polls. It divides the loss of a datum by the sum of its
weights and the gradient of a step by its datums, and does not clip.
"""

import base64
import io
import json
import pathlib
import subprocess
import tarfile
import threading
import time

import fake_tinker_proto
from fake_http import FakeServer, Handler
from support import CHECKOUT

PROBE = CHECKOUT / "build" / "tests" / "policy" / "train_backend_probe"
ALPHA = 32
KEY = "tml-secret-of-the-tests"
BASE = "base/tiny"
ADAPTERS, MAX_RANK = 4, 32  # of SkyRL
DESCRIPTION = {"name": "Tinker API Mock", "version": "0.0.1", "endpoints": {}}
PROTOBUF = "application/x-protobuf"
PASSES = ("/api/v1/forward", "/api/v1/forward_backward")
RESULTS = {
    "forward": fake_tinker_proto.pass_result,
    "forward_backward": fake_tinker_proto.pass_result,
    "asample": fake_tinker_proto.sample_result,
}
NUMBERED_BY_SKYRL = ("forward", "forward_backward", "optim_step")


def expiry(token):
    """In seconds since 1970."""
    claims = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["exp"]


class Probe:
    """A backend behind pipes. Threads take turns."""

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
        self, path, kind, status=0, body="{}", *,
        times=1, after=False, headers=(), call=None, skip=0, of=None,
    ):  # fmt: skip
        self.path, self.kind, self.status, self.body = path, kind, status, body
        self.times, self.after, self.headers, self.call = times, after, headers, call
        self.skip, self.of = skip, of


class Refused(Exception):
    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


class Model:
    def __init__(self, probe, rank):
        self.probe, self.rank, self.version = probe, rank, 0
        self.requests, self.bodies = 0, {}  # the last number; what each stands for
        self.pending = []  # SkyRL's passes since the last step


class FakeTinker(FakeServer):
    def __init__(self, directory, folder, skyrl=False, config=None, key=None, *, passes="both"):
        self.directory, self.folder = pathlib.Path(directory), pathlib.Path(folder)
        self.skyrl, self.key = skyrl, key
        self.config = {"pjwt_auth_enabled": False} if config is None else config
        self.faults, self.calls = [], []
        self.futures, self.asked, self.models, self.samplers = {}, {}, {}, {}
        self.checkpoints, self.sessions = {}, {}
        self.origins = {}  # of futures: the path that made them
        self.made = 0  # models, in all
        self.keeps = False  # what it has
        self.name = BASE  # of its model
        self.bodies = []  # of passes in protocol buffers
        self.passes = passes  # their encoding: "json", "proto" (SDKs since 0.25), "both"
        self.tokens, self.lifetime = [], 3600  # that keys were exchanged for, and their seconds
        self.archives, self.missing = {}, 0  # other bytes for a name; how many never come
        self.archive_url = None  # another place of archives
        self.hidden = False  # no description at SkyRL's root
        self.metrics = {}  # of SkyRL's passes
        config = json.loads((self.directory / "config.json").read_text())
        self.context = config["max_position_embeddings"]
        self.work = threading.RLock()
        self.handler = _Handler
        super().__init__()  # `lock` is of the faults and calls

    def __exit__(self, *exception):
        super().__exit__()
        self.restart()

    def restart(self):
        """All that it held is lost, but for checkpoints."""
        with self.work:
            for model in self.models.values():
                model.probe.close()
            for held in (self.models, self.samplers, self.futures, self.asked, self.sessions):
                held.clear()

    def held(self):
        """Paths of the checkpoints that it has."""
        return [path for path in self.checkpoints if "/weights/" in path]

    def count(self, path):
        return sum(called == path for called, _ in self.calls)

    def fault_of(self, path, body):
        origin = self.origins.get(body.get("request_id"))
        with self.lock:
            for fault in self.faults:
                fits = fault.path in (None, path) and fault.of in (None, origin)
                if not fits or fault.times == 0:
                    continue
                if fault.skip > 0:
                    fault.skip -= 1
                    continue
                fault.times -= 1
                return fault
        return None

    # --- futures ---

    def future(self, path, key, run):
        """The id of what `run` gives; the same for a key that was asked for before."""
        with self.work:
            if key not in self.asked:
                number = str(len(self.origins) + 1)
                self.asked[key] = number
                self.origins[number] = path
                try:
                    self.futures[number] = (200, run())
                except Refused as refused:
                    self.futures[number] = (refused.status, {"detail": str(refused)})
            return {"request_id": self.asked[key]}

    def retrieve(self, body):
        if body["request_id"] not in self.futures:
            raise Refused(404, "no such request")
        status, result = self.futures[body["request_id"]]
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

    def session_of(self, body):
        if body["session_id"] not in self.sessions:
            raise Refused(404, f"no session {body['session_id']}")

    def create_model(self, body):
        lora = body["lora_config"]
        self.session_of(body)
        if self.skyrl and len(self.models) >= ADAPTERS:
            raise Refused(400, f"Maximum number of LoRA adapters ({ADAPTERS}) reached")
        if self.skyrl and not 0 < lora["rank"] <= MAX_RANK:
            raise Refused(400, f"LoRA rank {lora['rank']} must be between 1 and {MAX_RANK}")
        if body["base_model"] != self.name:
            raise Refused(400, f"no model {body['base_model']}")
        options = [f"rank={lora['rank']}", f"seed={lora['seed']}", f"alpha={ALPHA}", "backend=cpu"]
        self.made += 1
        name = f"model_{self.made:08x}"
        self.models[name] = Model(Probe("engine", self.directory, *options), lora["rank"])
        return {"model_id": name, "type": "create_model"}

    def unload_model(self, body):
        self.model_of(body).probe.close()
        del self.models[body["model_id"]]
        return {"model_id": body["model_id"], "type": "unload_model"}

    def numbered(self, path, body, run):
        """Requests of a model are done once, in order."""
        with self.work:
            model, number = self.model_of(body), body["seq_id"]
            key = (body["model_id"], number)
            if self.skyrl and path not in NUMBERED_BY_SKYRL:
                key += (len(self.asked),)
            elif key in self.asked:
                if model.bodies[number] != body:
                    raise Refused(409, f"number {number} is another request's")
            elif number != model.requests + 1 and not self.skyrl:
                raise Refused(400, f"number {number} comes behind {model.requests}")
            else:
                model.requests = number
                model.bodies[number] = body
            return self.future(path, key, lambda: run(model))

    def checked(self, answer):
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
            datums.append({"tokens": tokens} | {renames.get(k, k): v for k, v in values.items()})

        def run(model):
            wanted = {"datums": datums, "loss": given["loss_fn"], "config": renamed}
            if self.skyrl and gradients:
                model.pending.append(wanted)
            now = gradients and not self.skyrl
            answer = self.checked(model.probe.ask("pass", gradients=now, **wanted))
            outputs = [
                {"logprobs": {"data": row, "dtype": "float32", "shape": [len(row)]}}
                for row in answer["logprobs"]
            ]
            if self.skyrl:
                for output in outputs:
                    output["elementwise_loss"] = output["logprobs"]
            metrics = self.metrics if self.skyrl else {"loss:sum": answer["loss"]}
            kind = "scalar" if self.skyrl else "array"
            return {"loss_fn_output_type": kind, "loss_fn_outputs": outputs, "metrics": metrics}

        return self.numbered("forward_backward" if gradients else "forward", body, run)

    def average(self, model):
        """What the passes since the last step are to SkyRL: a mean over datums of means."""
        whole = sum(len(one["datums"]) for one in model.pending)
        for one in model.pending:
            for datum in one["datums"]:
                weights = datum.get("weights", [1.0] * len(datum["tokens"]))
                share = 1 / (max(sum(weights), 1e-9) * whole)
                if "advantages" in datum:
                    pairs = zip(weights, datum.pop("advantages"), strict=True)
                    datum["advantages"] = [w * a * share for w, a in pairs]
                    datum.pop("weights", None)
                else:
                    datum["weights"] = [w * share for w in weights]
            self.checked(model.probe.ask("pass", gradients=True, **one))
        model.pending = []

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
            if self.skyrl:
                values["clip"] = 0.0
                self.average(model)
            norm = self.checked(model.probe.ask("step", **values))["norm"]
            return {"metrics": {"skyrl.ai/grad_norm" if self.skyrl else "grad_norm": norm}}

        return self.numbered("optim_step", body, run)

    # --- sampling ---

    def save_for_samplers(self, body):
        """Under a name: what is kept is an archive of the adapter."""
        path = f"tinker://{body['model_id']}/sampler_weights/{body['path']}"
        known = (body["model_id"], body["seq_id"]) in self.asked
        if path in self.checkpoints and not known:
            raise Refused(409, "there is a checkpoint of that name")

        def run(model):
            folder = self.folder / f"adapter-{len(self.checkpoints)}"
            model.probe.must("export", directory=str(folder))
            self.checkpoints[path] = self.archive_of(folder)
            return {"path": path, "type": "save_weights_for_sampler"}

        return self.numbered("save_weights_for_sampler", body, run)

    def archive_of(self, folder):
        """As SkyRL makes it: without `target_modules`."""
        config = json.loads((folder / "adapter_config.json").read_text())
        if self.skyrl:
            config["target_modules"] = None
        (folder / "adapter_config.json").write_text(json.dumps(config))
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
            archive.add(folder, arcname="" if self.skyrl else "adapter")
        return buffer.getvalue()

    def freeze(self, body):
        if "path" in body:
            return self.save_for_samplers(body)

        def run(model):
            self.checked(model.probe.ask("refresh"))
            model.version += 1
            name = f"{body['model_id']}_sample_{body['sampling_session_seq_id']}"
            self.samplers[name] = (model, model.version)
            if self.skyrl:  # which keeps a copy on its disk
                copy = f"ss{body['sampling_session_seq_id']}_seq{body['seq_id']}"
                self.checkpoints[f"tinker://{body['model_id']}/sampler_weights/{copy}"] = b""
                return {"path": None, "sampling_session_id": name}
            self.checkpoints[f"tinker://{name}"] = name
            return {"path": f"tinker://{name}", "type": "save_weights_for_sampler"}

        return self.numbered("save_weights_for_sampler", body, run)

    def create_sampling_session(self, body):
        self.session_of(body)
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
            answer = self.checked(answers[0])
            reason = "stop" if answer["stopped"] else "length"
            sequence = {"stop_reason": reason} | {k: answer[k] for k in ("tokens", "logprobs")}
            return {"sequences": [sequence], "prompt_cache_hit_tokens": 0}

        return self.future("asample", (name, body["seq_id"]), run)

    # --- checkpoints ---

    def save_weights(self, body):
        path = f"tinker://{body['model_id']}/weights/{body['path']}"
        known = (body["model_id"], body["seq_id"]) in self.asked
        if path in self.checkpoints and not known:
            raise Refused(409, "there is a checkpoint of that name")

        def run(model):
            name = f"{body['model_id']}-{body['path']}"
            where = model.probe.must("save", directory=str(self.folder), name=name)["where"]
            self.checkpoints[path] = (where, model.rank)
            return {"path": path, "type": "save_weights"}

        return self.numbered("save_weights", body, run)

    def load_weights(self, body):
        def run(model):
            if body["seq_id"] != 1:
                raise Refused(400, "LoadWeights is not permitted now")
            where, _ = self.checkpoints[body["path"]]
            optimizer = body["optimizer"]
            self.checked(
                model.probe.ask(
                    "load", directory=str(self.folder), where=where, optimizer=optimizer
                )
            )
            return {"path": body["path"], "type": "load_weights"}

        return self.numbered("load_weights", body, run)

    def weights_info(self, body):
        if body["tinker_path"] not in self.checkpoints:
            raise Refused(404, "there is no such checkpoint")
        rank = self.checkpoints[body["tinker_path"]][1]
        return {"base_model": self.name, "is_lora": True, "lora_rank": rank}

    def forget(self, path):
        run, kind, name = self.parts_of(path)
        if self.keeps:
            raise Refused(403, "checkpoints are for ever")
        if self.checkpoints.pop(f"tinker://{run}/{kind}/{name}", None) is None:
            raise Refused(404, "there is no such checkpoint")

    def parts_of(self, path):
        """RUN, kind and name in …/training_runs/RUN/checkpoints/[KIND/]NAME[/archive]."""
        parts = path.split("/")[4:]
        kind = parts[2] if parts[2] in ("weights", "sampler_weights") else None
        return parts[0], kind or "sampler_weights", parts[3 if kind else 2]

    def archive(self, path):
        """Where it is; SkyRL redirects, and knows names alone."""
        run, kind, name = self.parts_of(path)
        if self.skyrl and f"/{kind}/" in path:
            raise Refused(405, "Method Not Allowed")
        if f"tinker://{run}/{kind}/{name}" not in self.checkpoints:
            raise Refused(404, "Checkpoint not found")
        return f"{self.archive_url or self.url}/download/{run}/{name}?signature=a%2Fb"

    def downloaded(self, path):
        run, name = path.split("?")[0].split("/")[2:]
        given = self.archives.get(name)
        found = self.checkpoints[f"tinker://{run}/sampler_weights/{name}"]
        return found if given is None else given

    def copies(self):
        """Names of what samplers came from."""
        kept = [path for path in self.checkpoints if "/sampler_weights/" in path]
        return [path.rsplit("/", 1)[1] for path in kept]

    # --- all of it ---

    def create_session(self, body):
        name = f"session-{self.count('/api/v1/create_session')}"
        self.sessions[name] = body
        return {"session_id": name, "type": "create_session"}

    def exchange(self):
        """A token for the key, which expires."""
        if not self.config.get("pjwt_auth_enabled"):
            raise Refused(404, "Not Found")
        claims = {"exp": time.time() + self.lifetime, "number": len(self.tokens)}
        text = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
        self.tokens.append(f"eyJhbGciOiJub25lIn0.{text}.secret-signature")
        return {"jwt": self.tokens[-1]}

    def heartbeat(self, body):
        self.session_of(body)
        return {"type": "session_heartbeat"}

    def answer(self, path, body):
        name = path.removeprefix("/api/v1/")
        direct = {
            "client/config": lambda: self.config,
            "get_server_capabilities": lambda: {
                "supported_models": [{"model_name": self.name, "max_context_length": self.context}]
            },
            "create_session": lambda: self.create_session(body),
            "auth/token": self.exchange,
            "session_heartbeat": lambda: self.heartbeat(body),
            "retrieve_future": lambda: self.retrieve(body),
            "create_sampling_session": lambda: self.create_sampling_session(body),
            "weights_info": lambda: self.weights_info(body),
            "create_model": lambda: self.future(
                name, (body["session_id"], body["model_seq_id"]), lambda: self.create_model(body)
            ),
            "unload_model": lambda: self.future(
                name, ("unload", body["model_id"]), lambda: self.unload_model(body)
            ),
            "forward_backward": lambda: self.forward(body, True),
            "forward": lambda: self.forward(body, False),
            "optim_step": lambda: self.optim_step(body),
            "save_weights_for_sampler": lambda: self.freeze(body),
            "save_weights": lambda: self.save_weights(body),
            "load_weights": lambda: self.load_weights(body),
            "asample": lambda: self.asample(body),
        }
        if self.skyrl and path == "/" and not self.hidden:
            return DESCRIPTION
        if name not in direct:
            raise Refused(404, "Not Found")
        return direct[name]()


class _Handler(Handler):
    def is_known(self):
        """Its key; where keys are exchanged, the token for everything but two requests."""
        fake, given = self.fake, self.headers.get("X-API-Key")
        exchanged = fake.config.get("pjwt_auth_enabled")
        if exchanged and self.path not in ("/api/v1/client/config", "/api/v1/auth/token"):
            return given in fake.tokens and expiry(given) > time.time()
        return not fake.key or given == fake.key

    def body(self):
        """JSON, or a pass in protocol buffers as JSON: then `path` is that of JSON, too."""
        if self.headers.get("Content-Type") != PROTOBUF:
            return super().body()
        if self.fake.passes == "json":
            self.rfile.read(int(self.headers["Content-Length"]))
            raise Refused(415, "JSON is spoken here")
        data = self.rfile.read(int(self.headers["Content-Length"]))
        self.fake.bodies.append(data)
        body, forward = fake_tinker_proto.request_of(data)
        if forward:
            self.path = "/api/v1/forward"
        return body

    def in_protobuf(self, body, result):
        """A result that is wanted so: (type, bytes), or None."""
        origin = self.fake.origins.get(body.get("request_id"))
        encode = RESULTS.get(origin)
        if self.path != "/api/v1/retrieve_future" or not encode or "error" in result:
            return None
        if PROTOBUF not in self.headers.get("Accept", "") or self.fake.passes == "json":
            assert self.fake.passes != "proto", "a result in JSON is wanted"
            return None
        return encode(result)

    def work(self, body):
        fake = self.fake
        if not self.is_known():
            return 401, json.dumps({"detail": f"{self.headers.get('X-API-Key')} is no key"})
        encoding = self.headers.get("Content-Type")
        try:
            if fake.passes == "proto" and self.path in PASSES and encoding != PROTOBUF:
                raise Refused(415, "passes are protocol buffers here")
            result = fake.answer(self.path, body)
            return 200, self.in_protobuf(body, result) or json.dumps(result)
        except Refused as refused:
            return refused.status, json.dumps({"detail": str(refused)})
        except Exception as problem:  # a defect of the test's or of ours: said, not swallowed
            return 422, json.dumps({"detail": repr(problem)})

    def do_POST(self):
        fake = self.fake
        try:
            body = self.body()
        except Refused as refused:
            self.send_json({"detail": str(refused)}, refused.status)
            return
        fault = fake.fault_of(self.path, body)
        with fake.lock:
            fake.calls.append((self.path, body))
        while fault and fault.kind == "hang" and fault in fake.faults and not fake.ended.is_set():
            time.sleep(0.01)
        if fault and fault.kind == "call":
            fault.call()
            fault = None
        if fault and fault.kind == "status":
            self.send_text(fault.body, fault.status, headers=fault.headers)
            return
        if fault and fault.kind == "again":
            self.send_json({"type": "try_again", "queue_state": "paused_capacity"})
            return
        if fault and fault.kind == "junk":
            self.send_text(fault.body)
            return
        if fault and (fault.kind == "hang" or not fault.after):
            self.close_connection = True
            return
        status, text = self.work(body)
        if fault and fault.kind == "drop":
            self.close_connection = True
            return
        if isinstance(text, bytes):
            self.send_bytes(text, PROTOBUF)
        else:
            self.send_text(text, status)

    def send_bytes(self, data, kind):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        fake = self.fake
        if self.path.startswith("/download/"):
            data = fake.downloaded(self.path)
            self.send_response(200)
            self.send_header("Content-Type", "application/octet-stream")
            self.send_header("Content-Length", str(len(data) + fake.missing))
            self.end_headers()
            self.wfile.write(data)
            self.close_connection = fake.missing > 0
        elif self.path.endswith("/archive"):
            self.send_archive()
        else:
            self.do_POST()

    def send_archive(self):
        try:
            where = self.fake.archive(self.path) if self.is_known() else None
        except Refused as refused:
            self.send_json({"detail": str(refused)}, refused.status)
            return
        if not where:
            self.send_json({"detail": "no key"}, 401)
        elif not self.fake.skyrl:
            self.send_json({"url": where})
        else:
            self.send_response(302)
            self.send_header("Location", where)
            self.send_header("Content-Length", "0")
            self.end_headers()

    def do_DELETE(self):
        fake = self.fake
        with fake.lock:
            fake.calls.append((self.path, {}))
        try:
            fake.forget(self.path)
        except Refused as refused:
            self.send_json({"detail": str(refused)}, refused.status)
            return
        self.send_response(204)
        self.end_headers()
