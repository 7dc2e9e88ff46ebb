"""`warpgym lm serve --tinker`: our own client trains on it as in this process, and what the
protocol promises of numbers, futures, checkpoints and refusals. With the SDK itself:
test_tinker_serve_real.py."""

import io
import json
import os
import subprocess
import tarfile
import threading
import time

import fake_tinker
import pytest
import support
import tiny_world
from fake_tinker import Probe
from fake_tinker_proto import counted, fields
from test_tinker import assert_close, run
from tinker_serving import (
    PROTOBUF,
    TinkerServer,
    floats,
    logprobs_of,
    pass_of,
    prompt_of,
    step_of,
    tensor,
    text_datum,
)

TEXT = [5, 9, 13, 21, 8, 30, 2, 17]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    directory = tmp_path_factory.mktemp("model")
    subprocess.run([fake_tinker.PROBE, "fresh", directory], check=True)
    return directory


@pytest.fixture(scope="module")
def server(module_warpgym, model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept")
    with TinkerServer(module_warpgym, model, folder, "tinker.max_runs=1000") as one:
        yield one


def environment(key="tml-key"):
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("TINKER_")
    }
    return kept | {"TINKER_API_KEY": key}


# --- our own client: the same as in this process --------------------------------------------------


def test_the_same_run_as_in_process(server, model):
    options = ("rank=4", "seed=11")
    with Probe(
        "engine", model, *options, f"alpha={fake_tinker.ALPHA}", "backend=cpu"
    ) as backend:
        expected = run(backend)
    urls = (f"tokenizer={model}", f"url={server.url}")
    with Probe("tinker", model, *options, *urls, environment=environment()) as backend:
        found = run(backend)
    assert_close(found, expected)


def test_a_run_of_warpgym_train(module_warpgym, tmp_path):
    """Three steps, an evaluation, checkpoints; its adapter is taken away, and is one of PEFT's."""
    config = tiny_world.make(module_warpgym, tmp_path / "world")
    model = config.parent / "base" / "model"
    with TinkerServer(module_warpgym, model, tmp_path / "kept") as server:
        pairs = (
            "train.problems=plus minus", "train.steps=3", "train.prompts=2", "train.samples=4",
            "train.lora_rank=4", "train.context=160", "train.rate=0.01", "train.save_every=1",
            "train.keep=2", "train.loss=ppo", "gym.reward=staged1",
        )  # fmt: skip
        command = tiny_world.arguments(config, tmp_path / "run", *pairs)
        through = (
            "train.backend=tinker", f"train.model={model}", f"train.url={server.url}",
        )  # fmt: skip
        keys = {"TINKER_API_KEY": "tml-key"}
        module_warpgym.ok(*command, *through, environment=keys)
        alone = tiny_world.arguments(config, tmp_path / "alone", *pairs)
        module_warpgym.ok(*alone, "train.lora_alpha=32")
        found, expected = (
            tiny_world.metrics(tmp_path / out) for out in ("run", "alone")
        )
        assert [row["reward/mean"] for row in found] == [
            row["reward/mean"] for row in expected
        ]
        listed = server.must("checkpoints")["checkpoints"]
        assert {one["checkpoint_type"] for one in listed} == {"training", "sampler"}
        exported = tmp_path / "adapter"
        module_warpgym.ok("runs", "export", tmp_path / "run", exported, "-c", "last",
                          environment=keys)  # fmt: skip
    module_warpgym.ok("lm", "convert", model, tmp_path / "merged", "--merge", exported)


# --- numbers, order, futures ----------------------------------------------------------------------


def test_a_request_runs_once(server):
    """Sent again it gets the first one's future, also when two arrive at the same time."""
    model = server.model_of(server.session())
    body = pass_of(model, 1, text_datum(TEXT))
    found = []
    threads = [
        threading.Thread(
            target=lambda: found.append(server.must("forward_backward", body))
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({future["request_id"] for future in found}) == 1
    step = server.must("optim_step", step_of(model, 2))
    first = server.result(step)["metrics"]["unclipped_grad_l2:mean"]
    assert server.must("optim_step", step_of(model, 2)) == step
    assert server.do("forward_backward", pass_of(model, 3, text_datum(TEXT)))
    # Gradients of one pass, not of four.
    other = server.model_of(server.session())
    server.do("forward_backward", pass_of(other, 1, text_datum(TEXT)))
    second = server.do("optim_step", step_of(other, 2))["metrics"][
        "unclipped_grad_l2:mean"
    ]
    assert first == second > 0


def test_requests_run_by_number(server):
    """The SDK sends the chunks of a pass at once, the first one last."""
    norms = []
    for order in ((1, 2, 3, 4), (3, 4, 2, 1)):
        model = server.model_of(server.session())
        datums = [text_datum(TEXT[at:]) for at in range(3)]
        bodies = {
            number: pass_of(model, number, datums[number - 1]) for number in (1, 2, 3)
        }
        bodies[4] = step_of(model, 4)
        futures = {}
        for number in order:
            path = "optim_step" if number == 4 else "forward_backward"
            futures[number] = server.must(path, bodies[number])
        norms.append(server.result(futures[4])["metrics"]["unclipped_grad_l2:mean"])
    assert norms[0] == norms[1]


def test_a_number_that_never_comes(module_warpgym, model, tmp_path):
    with TinkerServer(
        module_warpgym, model, tmp_path, "tinker.order_timeout_ms=300ms"
    ) as server:
        run_id = server.model_of(server.session())
        answer = server.do("forward_backward", pass_of(run_id, 2, text_datum(TEXT)))
        assert "request 1 of this run did not arrive" in answer["error"]
        answer = server.do("optim_step", step_of(run_id, 3))
        assert "a pass since the last step failed" in answer["error"]
        assert "metrics" in server.do(
            "forward_backward", pass_of(run_id, 4, text_datum(TEXT))
        )
        assert "metrics" in server.do("optim_step", step_of(run_id, 5))


def test_a_failed_pass_does_not_train(server):
    """Not even with the gradients of those beside it."""
    model = server.model_of(server.session())
    good, bad = text_datum(TEXT), text_datum([5, 100000, 3])
    before = server.do("forward_backward", pass_of(model, 1, good))
    failed = server.do("forward_backward", pass_of(model, 2, bad))
    assert "datum 0" in failed["error"] and failed["category"] == "user"
    answer = server.do("optim_step", step_of(model, 3))
    assert "send the passes again" in answer["error"]
    after = server.do("forward_backward", pass_of(model, 4, good))
    assert logprobs_of(before) == logprobs_of(after)
    assert "metrics" in server.do("optim_step", step_of(model, 5))


def test_a_poll_waits(module_warpgym, model, tmp_path):
    with TinkerServer(
        module_warpgym, model, tmp_path, "tinker.poll_ms=200ms"
    ) as server:
        run_id = server.model_of(server.session())
        future = server.must("optim_step", step_of(run_id, 2))
        answer = server.must("retrieve_future", {"request_id": future["request_id"]})
        assert answer["type"] == "try_again" and answer["queue_state"] == "active"
        server.must("forward_backward", pass_of(run_id, 1, text_datum(TEXT)))
        assert "metrics" in server.result(future)


# --- losses ---------------------------------------------------------------------------------------


def test_both_encodings(server):
    """The same pass as JSON and as protocol buffers, and the same answer in both."""
    model = server.model_of(server.session())
    tokens, rows = TEXT[:-1], len(TEXT) - 1
    first = server.do("forward_backward", pass_of(model, 1, text_datum(TEXT)))
    pack = lambda values, size: b"".join(  # noqa: E731
        value.to_bytes(size, "little") for value in values
    )
    ones = b"\0\0\x80?" * rows
    entries = b""
    for name, data, dtype in (
        ("target_tokens", pack(TEXT[1:], 8), 2),
        ("weights", ones, 1),
    ):
        value = counted(1, data) + bytes([3 << 3, dtype]) + counted(4, bytes([rows]))
        entries += counted(2, counted(1, name.encode()) + counted(2, value))
    datum = counted(1, counted(1, counted(1, pack(tokens, 4)))) + entries
    body = counted(1, model.encode()) + bytes([2 << 3, 2]) + counted(3, datum)
    body += counted(4, b"cross_entropy")
    future = server.must("forward_backward", body, headers={"Content-Type": PROTOBUF})
    assert server.result(future) == first
    status, data = server.send(
        "POST", "/api/v1/retrieve_future", {"request_id": future["request_id"]},
        {"Accept": PROTOBUF},
    )  # fmt: skip
    assert status == 200 and server.headers["Content-Type"] == PROTOBUF
    record = dict(fields(dict(fields(data))[2]))
    found = dict(fields(dict(fields(record[2]))[2]))
    assert floats(found[1]) == pytest.approx(logprobs_of(first)[0], rel=1e-6)
    assert int.from_bytes(found[2][8:], "little") == 4 * rows  # bytes, not rows


def test_several_targets_a_row(server):
    """Dense and as CSR; a row with one target of weight 1 is the plain loss."""
    model = server.model_of(server.session())
    rows, plain = len(TEXT) - 1, text_datum(TEXT)
    targets = [token for row in TEXT[1:] for token in (row, 3)]
    weights = [1.0, 0.0] * rows
    wide = {
        "model_input": plain["model_input"],
        "loss_fn_inputs": {
            "target_tokens": tensor(targets, "int64", [rows, 2]),
            "weights": tensor(weights, "float32", [rows, 2]),
        },
    }
    sparse = json.loads(json.dumps(wide))
    sparse["loss_fn_inputs"]["weights"] = {
        "data": [1.0] * rows, "dtype": "float32", "shape": [rows, 2],
        "sparse_crow_indices": list(range(rows + 1)), "sparse_col_indices": [0] * rows,
    }  # fmt: skip
    one, two, three = (
        server.do("forward_backward", pass_of(model, number, datum))
        for number, datum in enumerate((plain, wide, sparse), 1)
    )
    assert one["metrics"]["loss:sum"] == pytest.approx(
        two["metrics"]["loss:sum"], rel=1e-6
    )
    assert two == three
    assert two["loss_fn_outputs"][0]["logprobs"]["shape"] == [rows, 2]
    assert logprobs_of(two)[0][::2] == pytest.approx(logprobs_of(one)[0], rel=1e-5)


def test_a_loss_is_a_sum(server):
    model = server.model_of(server.session())
    half = text_datum(TEXT, [0.5] * (len(TEXT) - 1))
    one = server.do("forward_backward", pass_of(model, 1, text_datum(TEXT)))
    both = server.do("forward_backward", pass_of(model, 2, half, half))
    whole = -sum(logprobs_of(one)[0])
    assert one["metrics"]["loss:sum"] == pytest.approx(whole, rel=1e-5)
    assert both["metrics"]["loss:sum"] == pytest.approx(whole, rel=1e-5)


# --- samples --------------------------------------------------------------------------------------


def sample(server, sampler, number=None, tokens=TEXT[:4], count=1, **more):
    params = {"max_tokens": 6, "seed": 4} | more.pop("params", {})
    body = {
        "sampling_session_id": sampler,
        "num_samples": count,
        "prompt": prompt_of(tokens),
    }
    body |= (
        {"sampling_params": params}
        | ({} if number is None else {"seq_id": number})
        | more
    )
    return server.must("asample", body)


def alike(one, other):
    """But for the last digits of numbers: how rows are multiplied together changes them, on some
    processors."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(alike, one, other))
    return one == (pytest.approx(other, abs=1e-5) if isinstance(one, float) else other)


def test_samplers_are_frozen(server):
    """A step after it changes nothing; a base sampler beside it has the base's weights."""
    session = server.session()
    model = server.model_of(session)
    base = server.sampler_of(session, 0, base_model=server.model)
    body = {"model_id": model, "seq_id": 1, "sampling_session_seq_id": 1}
    saved = server.do("save_weights_for_sampler", body)
    assert saved["path"] is None
    frozen = saved["sampling_session_id"]
    scores = {"prompt_logprobs": True, "topk_prompt_logprobs": 3}
    before = server.result(sample(server, frozen, 1, count=2, **scores))
    assert alike(before, server.result(sample(server, base, 1, count=2, **scores)))  # B is 0
    server.do("forward_backward", pass_of(model, 2, text_datum(TEXT)))
    server.do("optim_step", step_of(model, 3))
    assert alike(server.result(sample(server, frozen, 2, count=2, **scores)), before)
    body = {"model_id": model, "seq_id": 4, "path": "named"}
    path = server.do("save_weights_for_sampler", body)["path"]
    trained = server.sampler_of(session, 2, model_path=path)
    after = server.result(sample(server, trained, 1, count=2, **scores))
    assert after["prompt_logprobs"] != before["prompt_logprobs"]
    assert after["prompt_logprobs"][0] is None and len(after["prompt_logprobs"]) == 4
    rows = after["topk_prompt_logprobs"]
    assert rows[0] is None and all(len(row) == 3 for row in rows[1:])
    # What the sampler says of a sample is what the trainer says.
    answer = after["sequences"][0]
    whole = TEXT[:4] + answer["tokens"]
    scored = server.do("forward_backward", pass_of(model, 5, text_datum(whole)))
    assert logprobs_of(scored)[0][3:] == pytest.approx(answer["logprobs"], abs=1e-4)


def test_samples_are_made_once(server):
    sampler = server.sampler_of(server.session(), base_model=server.model)
    future = sample(server, sampler, 7, count=3)
    assert sample(server, sampler, 7, count=3) == future
    assert len(future["sample_sequence_ids"]) == 3
    result = server.result(future)
    assert len(result["sequences"]) == 3
    assert server.result(sample(server, sampler, 8, count=3)) == result  # the same seed


def test_stops(server):
    sampler = server.sampler_of(server.session(), base_model=server.model)
    whole = server.result(sample(server, sampler))["sequences"][0]
    assert whole["stop_reason"] == "length" and len(whole["tokens"]) == 6
    stop = whole["tokens"][2]
    cut = server.result(sample(server, sampler, params={"stop": [stop]}))["sequences"][
        0
    ]
    assert cut["stop_reason"] == "stop" and cut["tokens"][-1] == stop
    assert cut["tokens"] == whole["tokens"][: whole["tokens"].index(stop) + 1]


# --- checkpoints ----------------------------------------------------------------------------------


def test_checkpoints(module_warpgym, model, tmp_path):
    """Saved, listed, loaded with and without the optimiser, downloaded, deleted, expired."""
    with TinkerServer(module_warpgym, model, tmp_path / "kept") as server:
        session = server.session()
        run_id = server.model_of(session)
        server.do("forward_backward", pass_of(run_id, 1, text_datum(TEXT)))
        server.do("optim_step", step_of(run_id, 2))
        body = {"model_id": run_id, "seq_id": 3, "path": "one", "ttl_seconds": 3600}
        path = server.do("save_weights", body)["path"]
        assert path == f"tinker://{run_id}/weights/one"
        answer = server.do("save_weights", body | {"seq_id": 4})
        assert "is there already" in answer["error"]
        assert (
            server.do("save_weights", body | {"seq_id": 5, "overwrite": True})["path"]
            == path
        )
        sampler = {"model_id": run_id, "seq_id": 6, "path": "one"}
        server.do("save_weights_for_sampler", sampler)
        external = sampler | {"seq_id": 7}
        server.do("save_weights_external", external)

        def state(run, number):
            server.do("forward_backward", pass_of(run, number, text_datum(TEXT)))
            step = server.do("optim_step", step_of(run, number + 1))["metrics"]
            scores = server.do(
                "forward_backward", pass_of(run, number + 2, text_datum(TEXT))
            )
            return step, logprobs_of(scores)

        info = server.must("weights_info", {"tinker_path": path})
        assert (
            info["base_model"] == server.model
            and info["lora_rank"] == 4
            and info["is_lora"]
        )
        other = server.model_of(session, 1)
        load = {"model_id": other, "seq_id": 1, "path": path, "optimizer": True}
        server.do("load_weights", load)
        # As SDKs since 0.38 do, in one request.
        load = {
            "session_id": session,
            "model_seq_id": 2,
            "path": path,
            "optimizer": True,
        }
        third = server.do("load_weights", load)["model_id"]
        assert state(run_id, 8) == state(other, 2) == state(third, 1)
        load = {
            "session_id": session,
            "model_seq_id": 3,
            "path": path,
            "optimizer": False,
        }
        fresh = server.do("load_weights", load)["model_id"]
        assert state(fresh, 1)[1] != state(third, 4)[1]

        listed = server.must(f"training_runs/{run_id}/checkpoints")["checkpoints"]
        kinds = {one["checkpoint_id"]: one for one in listed}
        assert set(kinds) == {
            "weights/one",
            "sampler_weights/one",
            "external_weights/one",
        }
        assert kinds["weights/one"]["expires_at"] > kinds["weights/one"]["time"]
        assert kinds["sampler_weights/one"]["size_bytes"] > 1000
        at = f"training_runs/{run_id}/checkpoints/"
        status, _ = server.ask(f"{at}sampler_weights/one/archive")
        assert status == 302
        address = server.headers["Location"].removeprefix(server.url)
        status, data = server.send("GET", address)
        assert status == 200
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            names = set(archive.getnames())
            config = json.load(archive.extractfile("adapter_config.json"))
        assert names == {"adapter_config.json", "adapter_model.safetensors"}
        assert config["r"] == 4 and config["lora_alpha"] == 32
        assert server.send("GET", address[:-1] + "x")[0] == 403
        urls = server.must(f"{at}external_weights/one/external_weights_urls")["urls"]
        assert set(urls) == names
        address = urls["adapter_config.json"].removeprefix(server.url)
        assert json.loads(server.send("GET", address)[1]) == config
        assert server.send("DELETE", f"/api/v1/{at}weights/one")[0] == 204
        server.refused("no checkpoint", f"{at}weights/one", method="DELETE", status=404)
        server.must(f"{at}sampler_weights/one/ttl", {"ttl_seconds": 1}, method="PUT")

        def gone():
            listed = server.must("checkpoints")["checkpoints"]
            return "sampler_weights/one" not in {one["checkpoint_id"] for one in listed}

        support.wait_until(gone, "the checkpoint has expired")


def test_a_server_that_dies(module_warpgym, model, tmp_path):
    """Checkpoints, sessions and samplers are there again; a future that is not is 410, at which the
    SDK sends a sample again; a run's weights are in its last checkpoint."""
    with TinkerServer(module_warpgym, model, tmp_path / "kept") as server:
        session = server.session()
        run_id = server.model_of(session)
        server.do("forward_backward", pass_of(run_id, 1, text_datum(TEXT)))
        server.do("optim_step", step_of(run_id, 2))
        path = server.do(
            "save_weights", {"model_id": run_id, "seq_id": 3, "path": "a"}
        )["path"]
        body = {"model_id": run_id, "seq_id": 4, "sampling_session_seq_id": 0}
        sampler = server.do("save_weights_for_sampler", body)["sampling_session_id"]
        future = sample(server, sampler, 1)
        before = server.result(future)
        server.restart()
        lost = {"request_id": future["request_id"]}
        server.refused("no such request", "retrieve_future", lost, status=410)
        assert server.result(sample(server, sampler, 1)) == before
        server.must("session_heartbeat", {"session_id": session})
        words = "create a training client from its last checkpoint"
        server.refused(words, "optim_step", step_of(run_id, 5), status=404)
        load = {
            "session_id": session,
            "model_seq_id": 1,
            "path": path,
            "optimizer": True,
        }
        again = server.do("load_weights", load)["model_id"]
        assert "metrics" in server.do(
            "forward_backward", pass_of(again, 1, text_datum(TEXT))
        )
        runs = server.must("training_runs")["training_runs"]
        assert {one["training_run_id"] for one in runs} == {run_id, again}
        assert next(r for r in runs if r["training_run_id"] == run_id)[
            "last_checkpoint"
        ]


def test_disk_that_fills_up(module_warpgym, model, tmp_path, small_disk):
    """One sentence; what was saved before stays, and with room again saving works."""
    with TinkerServer(module_warpgym, model, small_disk / "kept") as server:
        run_id = server.model_of(server.session())
        save = {"model_id": run_id, "path": "good"}
        server.do("save_weights", save | {"seq_id": 1})
        filler = small_disk / "filler"
        with filler.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"x" * 4096)
            except OSError:
                pass
        answer = server.do("save_weights", save | {"path": "bad", "seq_id": 2})
        assert "No space left" in answer["error"] and answer["category"] == "server"
        filler.unlink()
        server.do("save_weights", save | {"path": "bad", "seq_id": 3})
        listed = server.must("checkpoints")["checkpoints"]
        assert {one["checkpoint_id"] for one in listed} == {
            "weights/good",
            "weights/bad",
        }


# --- sessions -------------------------------------------------------------------------------------


def test_sessions_end(module_warpgym, model, tmp_path):
    """By their client's word, or without heartbeats; their runs are unloaded."""
    pairs = ("tinker.session_timeout_ms=1500ms", "tinker.max_runs=2")
    with TinkerServer(module_warpgym, model, tmp_path / "kept", *pairs) as server:
        first, second = server.session(), server.session()
        runs = [server.model_of(one) for one in (first, second)]
        body = {"session_id": first, "model_seq_id": 1, "base_model": server.model,
                "lora_config": {"rank": 2}}  # fmt: skip
        server.refused(
            "as many as tinker.max_runs allows", "create_model", body, status=429
        )
        server.must(f"sessions/{first}/finish", {})
        unloaded = lambda run: server.ask("get_info", {"model_id": run})[0] == 404  # noqa: E731
        support.wait_until(
            lambda: unloaded(runs[0]), "the run of the first session is unloaded"
        )
        support.wait_until(lambda: unloaded(runs[1]), "the second session has expired")
        server.refused(
            "no session", "session_heartbeat", {"session_id": second}, status=404
        )


def test_unnamed_weights_do_not_pile_up(module_warpgym, model, tmp_path):
    folder = tmp_path / "kept"
    with TinkerServer(
        module_warpgym, model, folder, "tinker.unnamed=2", "tinker.max_samplers=1"
    ) as server:
        run_id = server.model_of(server.session())
        samplers = []
        for number in range(1, 5):
            body = {
                "model_id": run_id,
                "seq_id": number,
                "sampling_session_seq_id": number,
            }
            saved = server.do("save_weights_for_sampler", body)
            samplers.append(saved["sampling_session_id"])
            server.result(sample(server, samplers[-1], 1))
        unnamed = lambda: sorted(path.name for path in folder.glob("*/unnamed/*"))  # noqa: E731
        assert unnamed() == ["3", "4"]
        body = {"sampling_session_id": samplers[0], "seq_id": 2, "num_samples": 1,
                "prompt": prompt_of(TEXT), "sampling_params": {"max_tokens": 2}}  # fmt: skip
        server.refused("were deleted", "asample", body, status=404)
        for number in range(2, 42):  # an answer that is here keeps no weights busy
            for sampler in samplers[2:]:
                server.result(sample(server, sampler, number))
        server.must(f"sessions/{run_id.split(':')[0]}/finish", {})
        assert unnamed() == []


# --- refusals -------------------------------------------------------------------------------------

CREATE = {"session_id": "SESSION", "model_seq_id": 9, "base_model": "BASE"}
ASAMPLE = {"base_model": "BASE", "prompt": prompt_of([1, 2]), "sampling_params": {}}
REFUSED = {
    "no body": ("create_model", {}, 400, "'session_id' is missing"),
    "another model": ("create_model", CREATE | {"base_model": "gpt"}, 404, "no base model 'gpt'"),
    "no adapter": ("create_model", CREATE, 400, "lora_config.rank must be 1 to"),
    "another optimiser": (
        "create_model",
        CREATE | {"lora_config": {"rank": 2}, "optimizer_config": {"type": "dimuon"}},
        501, "the optimiser 'dimuon'",
    ),
    "no session": ("create_model", CREATE | {"session_id": "x", "lora_config": {"rank": 2}}, 404,
                   "no session 'x'"),
    "no run": ("optim_step", {"model_id": "m", "seq_id": 1}, 404, "no run 'm'"),
    "a path out": ("weights_info", {"tinker_path": "tinker://../weights/x"}, 400, "no checkpoint"),
    "no sampler": ("asample", ASAMPLE | {"sampling_session_id": "../x"}, 404, "no sampler"),
    "an image": (
        "asample", ASAMPLE | {"prompt": {"chunks": [{"type": "image", "data": ""}]}}, 501,
        "reads text alone",
    ),
    "no token": ("asample", ASAMPLE | {"prompt": prompt_of([1, 10**6])}, 400, "vocabulary"),
    "too long": ("asample", ASAMPLE | {"sampling_params": {"max_tokens": 10**6}}, 400, "positions"),
    "too many": ("asample", ASAMPLE | {"num_samples": 10**6}, 400, "'num_samples' is 1000000"),
    "target scores": ("asample", ASAMPLE | {"prompt_alt_tokens_k": 2}, 501, "not supported"),
    "too many lists": ("asample", ASAMPLE | {"topk_prompt_logprobs": 999}, 400, "not 0 to 20"),
    "a stop": ("asample", ASAMPLE | {"sampling_params": {"stop": [1.5]}}, 400, "'stop' must be"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused(server, name):
    path, body, status, words = REFUSED[name]
    filled = (
        json.dumps(body)
        .replace("SESSION", server.session())
        .replace("BASE", server.model)
    )
    server.refused(words, path, json.loads(filled), status=status)


PASSES = {
    "another loss": ({"loss_fn": "gspo"}, "loss 'gspo'"),
    "another option": ({"loss_fn_config": {"beta": 1.0}}, "has no option 'beta'"),
    "no arrays": ({"data": [{"model_input": prompt_of([1, 2])}]}, "'target_tokens' is missing"),
    "another array": ({"data": [text_datum(TEXT) | {"loss_fn_inputs": {"mask": tensor([1.0])}}]},
                      "'mask' is no array"),
    "another length": ({"data": [text_datum(TEXT, [1.0])]}, "'weights' has 1 numbers"),
    "no list": ({"data": 3}, "has no list 'data'"),
}  # fmt: skip


@pytest.mark.parametrize("name", PASSES)
def test_refused_passes(server, name):
    """In their turn: the requests behind them are not held up."""
    more, words = PASSES[name]
    model = server.model_of(server.session())
    body = pass_of(model, 1, text_datum(TEXT), **more)
    answer = server.do("forward_backward", body)
    assert words in answer["error"] and answer["category"] == "user", answer
    assert (
        "send the passes again" in server.do("optim_step", step_of(model, 2))["error"]
    )


def test_a_compressed_body(server):
    headers = {"Content-Type": PROTOBUF, "Content-Encoding": "zstd"}
    status, data = server.send(
        "POST", "/api/v1/forward_backward", b"\x28\xb5\x2f\xfd", headers
    )
    assert status == 415 and b"Content-Encoding" in data
    assert server.must("client/config", {})["proto_compress_fwdbwd"] is False


def test_a_key(module_warpgym, model, tmp_path):
    with TinkerServer(
        module_warpgym, model, tmp_path, "server.token=tml-secret"
    ) as server:
        server.refused("bearer token", "get_server_capabilities", status=401)
        wrong = {"X-API-Key": "tml-other"}
        server.refused("wrong", "get_server_capabilities", status=401, headers=wrong)
        assert server.must(
            "get_server_capabilities", headers={"X-API-Key": "tml-secret"}
        )


def test_an_interrupt(module_warpgym, model, tmp_path):
    """While a poll waits and a sample runs: the process ends at once, and with status 0."""
    server = TinkerServer(module_warpgym, model, tmp_path)
    session = server.session()
    run_id = server.model_of(session)
    sampler = server.sampler_of(session, base_model=server.model)
    future = server.must("optim_step", step_of(run_id, 2))
    answers = []
    body = {"request_id": future["request_id"]}
    poll = threading.Thread(
        target=lambda: answers.append(server.ask("retrieve_future", body))
    )
    poll.start()
    sample(server, sampler, 1, count=8, params={"max_tokens": 40})
    time.sleep(0.2)
    began = time.monotonic()
    run_of = server.stop()
    poll.join()
    assert run_of.status == support.PASSED, run_of
    assert time.monotonic() - began < 5
    assert answers[0][0] == 503
