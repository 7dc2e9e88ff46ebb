"""Encodings and tokens of the Tinker protocol: the client speaks what the server understands."""

import pytest
from fake_tinker import KEY, FakeTinker, Fault, expiry
from test_tinker import (  # noqa: F401 (a fixture)
    FORWARD,
    PASS,
    assert_close,
    client,
    engine,
    model,
    run,
    sample,
    train,
)

EXCHANGE = "/api/v1/auth/token"


@pytest.mark.parametrize("passes", ["json", "proto"])
def test_the_same_run_in_each_encoding(model, tmp_path, passes):  # noqa: F811
    """JSON of SDKs up to 0.24, protocol buffers of later ones; a refused pass is not counted."""
    with engine(model) as backend:
        expected = run(backend, steps=2)
    with FakeTinker(model, tmp_path, passes=passes) as server, client(server, model) as backend:
        found = run(backend, steps=2)
        assert (server.count(PASS), server.count(FORWARD)) == (2, 2)
        numbers = [body["seq_id"] for path, body in server.calls if "model_id" in body]
        assert sorted(set(numbers)) == list(range(1, max(numbers) + 1))
    assert_close(found, expected)


def test_a_pass_that_no_encoding_mends(model, tmp_path):  # noqa: F811
    """What is wrong with it is said as it was first, too."""
    with FakeTinker(model, tmp_path) as server, client(server, model) as backend:
        why = '{"detail": "no such loss"}'
        server.faults = [Fault(PASS, "status", 422, why, times=2)]
        answer = train(backend)["error"]
        assert answer.count("no such loss") == 2 and "; and as JSON: " in answer


def test_keys_that_are_exchanged(model, tmp_path):  # noqa: F811
    """One token for all links, another one when it is about to expire or is refused."""
    config = {"pjwt_auth_enabled": True}
    with FakeTinker(model, tmp_path, config=config, key=KEY) as server:
        with client(server, model) as backend:
            run(backend, steps=1)
            assert server.count(EXCHANGE) == 1
            server.tokens.clear()  # the server has forgotten it, as after a restart
            assert "error" not in sample(backend)
            assert server.count(EXCHANGE) == 2
            server.faults = [Fault(EXCHANGE, "status", 503)]
            server.tokens.clear()
            assert "error" not in sample(backend), "a server that is busy for a moment"
            server.key = "tml-another"
            server.tokens.clear()
            answer = sample(backend)["error"]
            assert "the key was refused or has expired" in answer
            assert KEY not in answer and "eyJ" not in answer and "secret" not in answer
        assert all(expiry(token) for token in server.tokens)


def test_a_token_that_expires(model, tmp_path):  # noqa: F811
    config = {"pjwt_auth_enabled": True}
    with FakeTinker(model, tmp_path, config=config, key=KEY) as server:
        server.lifetime = 30  # less than the client keeps in reserve
        with client(server, model) as backend:
            before = server.count(EXCHANGE)
            assert "error" not in sample(backend)
            assert server.count(EXCHANGE) > before
