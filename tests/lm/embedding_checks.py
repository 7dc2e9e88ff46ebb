"""Vectors of texts (`/v1/embeddings`, `index build --embeddings`) against Transformers' hidden states."""

import array
import json
import shutil
import subprocess

import pytest
import tokenizers
import torch
import transformers
from openai_checks import CONFIG, WARPGYM, Served, make_model

POSITIONS = 4096  # references of problems have up to 2,500 tokens
TEXTS = ["A kernel is a function.", "x", "matmul of two 4096x4096 matrices " * 9]
TOLERANCE = 1e-5  # of vectors of length 1


def with_end(path):
    """Its tokenizer adds <|im_end|> behind each text, as Qwen3-Embedding's does its end."""
    file = path / "tokenizer.json"
    tokenizer = tokenizers.Tokenizer.from_file(str(file))
    end = "<|im_end|>"
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single=f"$A {end}", special_tokens=[(end, tokenizer.token_to_id(end))]
    )
    tokenizer.save(str(file))


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """One for each pooling, by the key that its file sets."""
    made = {}
    directory = tmp_path_factory.mktemp("embedding") / "tiny"
    make_model(directory, CONFIG | {"max_position_embeddings": POSITIONS})
    for key in ("lasttoken", "mean_tokens", "cls_token"):
        made[key] = directory.parent / key
        shutil.copytree(directory, made[key])
        with_end(made[key])
        keys = {f"pooling_mode_{name}": name == key for name in (*made, "max_tokens")}
        (made[key] / "1_Pooling").mkdir()
        (made[key] / "1_Pooling/config.json").write_text(json.dumps(keys))
    return made


@pytest.fixture(scope="module", params=["lasttoken", "mean_tokens"])
def pooled(request, models):
    path = models[request.param]
    server = Served(path)
    yield request.param, path, server
    server.stop()


def expected(pooling, path, texts):
    tokenizer = tokenizers.Tokenizer.from_file(str(path / "tokenizer.json"))
    model = transformers.AutoModel.from_pretrained(path, dtype=torch.float32)
    vectors = []
    for text in texts:
        ids = text if isinstance(text, list) else tokenizer.encode(text).ids
        with torch.no_grad():
            hidden = model(torch.tensor([ids])).last_hidden_state[0]
        vector = hidden[-1] if pooling == "lasttoken" else hidden.mean(0)
        vectors.append(torch.nn.functional.normalize(vector, dim=0))
    return torch.stack(vectors)


def embed(server, texts, **more):
    answer = server.client.embeddings.create(model=server.name, input=texts, **more)
    assert [item.index for item in answer.data] == list(range(len(answer.data)))
    return torch.tensor([item.embedding for item in answer.data]), answer.usage


def test_vectors_are_transformers(pooled):
    pooling, path, server = pooled
    wanted = expected(pooling, path, TEXTS)
    found, usage = embed(server, TEXTS)  # the client asks for base64
    assert (found - wanted).abs().max() < TOLERANCE
    assert usage.prompt_tokens == usage.total_tokens > len(" ".join(TEXTS)) / 8
    numbers, _ = embed(server, TEXTS, encoding_format="float")
    assert torch.equal(numbers, found)
    one, _ = embed(server, TEXTS[0])
    assert (one - wanted[:1]).abs().max() < TOLERANCE
    ids = [[5, 9, 30], [7]]
    found, usage = embed(server, ids)
    assert (found - expected(pooling, path, ids)).abs().max() < TOLERANCE
    assert usage.prompt_tokens == 4
    short, _ = embed(server, TEXTS, dimensions=5)
    wanted = torch.nn.functional.normalize(wanted[:, :5], dim=1)
    assert (short - wanted).abs().max() < TOLERANCE


def test_many_texts_need_several_passes(pooled):
    pooling, path, server = pooled
    texts = [f"{i} " * (POSITIONS // 8) for i in range(12)]
    found, _ = embed(server, texts)
    assert (found - expected(pooling, path, texts)).abs().max() < TOLERANCE


@pytest.mark.parametrize(
    ("body", "param", "why"),
    [
        ({}, "input", "missing"),
        ({"input": []}, "input", "must be"),
        ({"input": [[]]}, "input", "must be"),
        ({"input": 3}, "input", "must be a text"),
        ({"input": "a", "encoding_format": "int8"}, "encoding_format", "float"),
        ({"input": "a", "dimensions": 33}, "dimensions", "32 numbers"),
        ({"input": [[100000]]}, None, "100000"),
        ({"input": "word " * POSITIONS * 2}, None, "at most"),
        ({"input": "a", "model": "other"}, "model", "other"),
        ({"input": "a", "temperature": 1}, "temperature", "temperature"),
    ],
)
def test_refusals(pooled, body, param, why):
    answer = pooled[2].post("/embeddings", json=body)
    error = answer.json()["error"]
    assert answer.status_code in (400, 404) and why in error["message"], error
    assert param is None or error["param"] == param, error


def test_another_pooling_is_refused(models):
    run = subprocess.run(
        [WARPGYM, "lm", "serve", models["cls_token"], "--listen", "127.0.0.1:0"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert run.returncode == 3 and "pooling_mode_cls_token" in run.stderr


# --- retrieval -----------------------------------------------------------------------------------


def index(path, *settings, source="--own"):
    options = [word for setting in settings for word in ("-s", setting)]
    command = [WARPGYM, "index", "build", path, source, "--embeddings", "-q", *options]
    subprocess.run(command, check=True, timeout=120)
    values = array.array("f", (path / "vectors.f32").read_bytes())
    stats = [WARPGYM, "index", "stats", "--json", path]
    facts = json.loads(subprocess.run(stats, check=True, capture_output=True).stdout)
    facts = facts["embeddings"]
    return torch.tensor(values).reshape(-1, facts["dimension"]), facts["model"]


def search(path, *settings):
    options = [word for setting in settings for word in ("-s", setting)]
    command = [WARPGYM, "index", "search", path, "softmax of rows", "--json", *options]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)


def test_an_index_embeds_by_itself_or_by_a_server(pooled, models, tmp_path):
    pooling, path, server = pooled
    model = f"retrieval.embeddings_model={path}"
    endpoint = [
        f"retrieval.embeddings_url={server.url}",
        f"retrieval.embeddings_model={server.name}",
        "retrieval.embeddings_token=s3cret",
    ]
    own, name = index(tmp_path / "own", model)
    served, other = index(tmp_path / "served", *endpoint)
    assert (own - served).abs().max() < TOLERANCE
    assert name.startswith(f"{path.name} (") and other == path.name
    found = search(tmp_path / "own", model)
    assert found.returncode == 0 and found.stdout, found.stderr
    same = search(tmp_path / "served", *endpoint)
    names = [
        [json.loads(line)["name"] for line in run.stdout.splitlines()] for run in (found, same)
    ]
    assert names[0] == names[1]
    # The same weights with another pooling are another model.
    others = {"lasttoken": "mean_tokens", "mean_tokens": "lasttoken"}
    wrong = search(tmp_path / "own", f"retrieval.embeddings_model={models[others[pooling]]}")
    assert wrong.returncode == 2 and "was built with embeddings of" in wrong.stderr
    missing = search(tmp_path / "own", f"retrieval.embeddings_model={tmp_path / 'none'}")
    assert missing.returncode == 2 and "retrieval.embeddings_model" in missing.stderr


def test_an_index_cuts_long_texts_and_keeps_their_end(tmp_path):
    model = tmp_path / "short"
    make_model(model, CONFIG | {"max_position_embeddings": 64})
    with_end(model)
    long = "void solution(const float *x, float *y, size_t n) {" + " y[0] += x[0];" * 40 + " }"
    pair = {"name": "long", "language": "c", "reference": long, "solution": "void f(void) {}"}
    (tmp_path / "pairs.jsonl").write_text(json.dumps(pair))
    setting = f"retrieval.embeddings_model={model}"
    vectors, _ = index(tmp_path / "index", setting, source=tmp_path / "pairs.jsonl")
    ids = tokenizers.Tokenizer.from_file(str(model / "tokenizer.json")).encode(f"long\n{long}").ids
    assert len(ids) > 64
    wanted = expected("lasttoken", model, [ids[:63] + ids[-1:]])
    assert (vectors - wanted).abs().max() < TOLERANCE
