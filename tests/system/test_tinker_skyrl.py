"""A backend of kind tinker against what SkyRL's server does otherwise (fake_tinker.py, skyrl)."""

import re
import shutil

import pytest
from fake_tinker import ADAPTERS, BASE, MAX_RANK, FakeTinker, Probe
from test_tinker import PASS, RANK, client, engine, model  # noqa: F401 (a fixture)

# Prompts and answers of several lengths, so that no two divisors are alike.
SHAPES = ((2, 9), (7, 3), (1, 14))
LOSSES = {
    "cross_entropy": {},
    "importance_sampling": {},
    "ppo": {"clip_low": 0.8, "clip_high": 1.3},
    "cispo": {"clip_low": 0.5, "clip_high": 1.5},
}


def datums_of(loss):
    """Numbers without a pattern; a weight of 0 for each token of a prompt."""
    datums, number = [], 7
    for before, after in SHAPES:
        tokens, values = [], []
        for _ in range(before + after + 1):
            number = number * 1103515245 % 2147483648
            tokens.append(5 + number % 40)
            values.append((number % 1000 - 400) / 4000)
        rows = before + after
        answer = [value if i >= before else 0.0 for i, value in enumerate(values[:rows])]
        datum = {"tokens": tokens[:-1], "targets": tokens[1:]}
        if loss == "cross_entropy":
            datum["weights"] = [abs(value) for value in answer]
        else:
            datum |= {"advantages": answer, "sampled": [-4 + value for value in values[:rows]]}
        datums.append(datum)
    return datums


def two_steps(backend, loss):
    figures = []
    for _ in range(2):
        options = {"datums": datums_of(loss), "loss": loss, "config": LOSSES[loss]}
        sums = backend.must("pass", gradients=True, **options)
        norm = backend.must("step", rate=0.02, epsilon=1e-3)["norm"]
        rows = [value for row in sums["logprobs"] for value in row]
        figures += [norm, sums["loss"], *rows]
    return figures


@pytest.mark.parametrize("chunk", [1024, 1])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_step_is_that_of_the_engine(model, tmp_path, loss, chunk):  # noqa: F811
    with engine(model) as backend:
        expected = two_steps(backend, loss)
    config = {"fwdbwd_max_chunk_len": chunk}
    with FakeTinker(model, tmp_path, True, config) as server, client(server, model) as backend:
        assert two_steps(backend, loss) == pytest.approx(expected, rel=1e-4, abs=1e-5)
        assert server.count(PASS) == (2 if chunk > 1 else 2 * len(SHAPES))


def test_a_step_is_another_where_nothing_is_made_up_for(model, tmp_path):  # noqa: F811
    """Else the tests above would see nothing."""
    with engine(model) as backend:
        expected = two_steps(backend, "ppo")
    with (
        FakeTinker(model, tmp_path, True) as server,
        client(server, model, "reduction=sum") as backend,
    ):
        assert two_steps(backend, "ppo")[0] < expected[0] / 10


def test_one_pass_a_step(model, tmp_path):  # noqa: F811
    options = {"datums": datums_of("ppo"), "loss": "ppo", "config": LOSSES["ppo"]}
    with FakeTinker(model, tmp_path, True) as server, client(server, model) as backend:
        backend.must("pass", gradients=True, **options)
        answer = backend.ask("pass", gradients=True, **options)
        assert answer["code"] == "unsupported" and "one pass a step" in answer["error"]


def test_a_server_that_hides(model, tmp_path):  # noqa: F811
    """Its root says nothing, but its metrics do: the run ends before it goes on wrongly."""
    with FakeTinker(model, tmp_path, True) as server:
        server.hidden = True
        with client(server, model) as backend:
            options = {"datums": datums_of("ppo"), "loss": "ppo", "config": LOSSES["ppo"]}
            backend.must("pass", gradients=True, **options)
            answer = backend.ask("step", rate=0.02)
            assert re.search("SkyRL's server.*set train.reduction", answer["error"])
            answer = backend.ask("pass", gradients=True, **options)
            assert "resume from a checkpoint" in answer["error"]
        with client(server, model, "reduction=mean") as backend, engine(model) as expected:
            assert two_steps(backend, "ppo") == pytest.approx(
                two_steps(expected, "ppo"), rel=1e-4, abs=1e-5
            )


def test_a_backend_for_gpus(model, tmp_path):  # noqa: F811
    """It adds up; its passes say so."""
    with FakeTinker(model, tmp_path, True) as server:
        server.metrics = {"total_loss:sum": 1.0}
        options = {"datums": datums_of("ppo"), "loss": "ppo", "config": LOSSES["ppo"]}
        with client(server, model) as backend:
            answer = backend.ask("pass", gradients=True, **options)
            assert "set train.reduction=sum" in answer["error"]
        with client(server, model, "reduction=sum") as backend:
            backend.must("pass", gradients=True, **options)


def test_its_refusals_are_final(model, tmp_path):  # noqa: F811
    """A 400 is how it says that a request failed, and not a proxy's slip."""
    with (
        FakeTinker(model, tmp_path, True) as server,
        client(server, model, f"rank={MAX_RANK + 1}") as backend,
    ):
        answer = backend.ask("refresh")["error"]
        assert "must be between" in answer and "attempts" not in answer


def test_a_tokenizer_of_another_model(model, tmp_path):  # noqa: F811
    """Where the server's model is a directory here, too."""
    other = tmp_path / "other"
    shutil.copytree(model, other)
    file = other / "tokenizer.json"
    file.write_text(file.read_text().replace('"model"', ' "model"', 1))
    with FakeTinker(model, tmp_path) as server:
        server.name = str(model)
        options = (f"tokenizer={other}", f"url={server.url}", f"rank={RANK}")
        with pytest.raises(AssertionError, match="is not that of the model in"):
            Probe("tinker", model, *options).__enter__()
        assert server.calls == []


def test_limits(model, tmp_path):  # noqa: F811
    with FakeTinker(model, tmp_path, True) as server:
        with client(server, model, f"rank={MAX_RANK + 1}") as backend:
            answer = backend.ask("refresh")
            assert f"must be between 1 and {MAX_RANK}" in answer["error"]
        backends = []
        for i in range(ADAPTERS + 1):
            backends.append(client(server, model).__enter__())
            answer = backends[i].ask("refresh")
            assert ("reached" in answer.get("error", "")) == (i == ADAPTERS)
        for backend in backends:
            backend.__exit__(None, None, None)
        assert server.models == {} and BASE
