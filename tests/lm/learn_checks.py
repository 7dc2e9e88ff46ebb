"""A tokenizer that was learned here: against the slow obvious way to learn one, and in the packages
that are to read it."""

import collections
import json
import os
import random
import subprocess
from pathlib import Path

import pytest
import tokenizers

ROOT = Path(__file__).resolve().parents[2]
WARPGYM = os.environ["TEST_WARPGYM"]
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
VOCAB = 480
BYTES = 256


def text_of_many_kinds():
    draw = random.Random(5)
    words = ["kernel", "naïve", "Straße", "速度", "カーネル", "emoji 🚀🚀", "don't", "I'LL", "x²", "١٢٣"]
    invented = [" ".join(draw.choices(words, k=9)) + draw.choice("\n\t \r") for _ in range(300)]
    lines = (ROOT / "README.md").read_text() + (ROOT / "src/gym/episode/journal.c").read_text()
    return lines + "".join(invented) + "aaaaaaaa" * 40 + "\n\n\n   \n" * 9


def learn(directory, *texts, options=()):
    files = []
    for i, text in enumerate(texts):
        files.append(directory / f"corpus{i}.txt")
        files[-1].write_bytes(text if isinstance(text, bytes) else text.encode())
    out = directory / "out"
    command = [WARPGYM, "lm", "tokenizer", "--out", out, *options, *files]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return run, out


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    directory = tmp_path_factory.mktemp("learned")
    run, out = learn(directory, text_of_many_kinds(), options=["--vocab", str(VOCAB)])
    assert run.returncode == 0, run.stderr
    return out


def counted(words):
    pairs = collections.Counter()
    for word, times in words.items():
        for pair in zip(word, word[1:], strict=False):
            pairs[pair] += times
    return pairs


def merged(word, pair):
    out = []
    for letter in word:
        if out and (out[-1], letter) == pair:
            out[-1] += letter
            out.append("")  # so that what was merged is not merged again
        else:
            out.append(letter)
    return tuple(filter(None, out))


def slow_merges(words, ids, wanted, least):
    """All pairs are counted anew for each merge."""
    merges = []
    passed = set()
    while len(merges) < wanted:
        pairs = {p: n for p, n in counted(words).items() if p not in passed}
        best = min(pairs, key=lambda p: (-pairs[p], ids[p[0]], ids[p[1]]), default=None)
        if best is None or pairs[best] < least:
            break
        if "".join(best) in ids:
            passed.add(best)
            continue
        ids["".join(best)] = len(ids)
        merges.append(" ".join(best))
        joined = collections.Counter()
        for word, times in words.items():
            joined[merged(word, best)] += times
        words = joined
    return merges


def test_the_merges_are_those_of_counting_anew(learned):
    file = json.loads((learned / "tokenizer.json").read_text())
    library = tokenizers.Tokenizer.from_file(str(learned / "tokenizer.json"))
    words = collections.Counter(
        tuple(word) for word, _ in library.pre_tokenizer.pre_tokenize_str(text_of_many_kinds())
    )
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    expected = slow_merges(
        words, {c: i for i, c in enumerate(alphabet)}, VOCAB - BYTES - len(SPECIAL), 2
    )
    assert len(expected) == VOCAB - BYTES - len(SPECIAL)
    assert file["model"]["merges"] == expected
    assert list(file["model"]["vocab"])[:BYTES] == alphabet
    assert list(file["model"]["vocab"].values()) == list(range(VOCAB - len(SPECIAL)))


def test_the_library_reads_it(learned):
    library = tokenizers.Tokenizer.from_file(str(learned / "tokenizer.json"))
    assert library.get_vocab_size() == VOCAB
    assert [library.token_to_id(text) for text in SPECIAL] == [VOCAB - 3, VOCAB - 2, VOCAB - 1]
    text = text_of_many_kinds()
    assert library.decode(library.encode(text).ids) == text
    assert len(library.encode(text).ids) < len(text.encode()) * 0.7


def test_the_same_files_give_the_same_bytes(learned, tmp_path):
    _, again = learn(tmp_path, text_of_many_kinds(), options=["--vocab", str(VOCAB)])
    for name in ("tokenizer.json", "tokenizer_config.json"):
        assert (again / name).read_bytes() == (learned / name).read_bytes()


@pytest.mark.parametrize(
    ("texts", "options", "vocab", "last"),
    [
        (["aaaa aaaa"], [], 256 + 3 + 2, "aaaa"),  # no more pairs than that: smaller than wanted
        (["ab", "ab"], [], 256 + 3 + 1, "ab"),  # counted over files
        (["ab cd"], [], 256 + 3, None),  # once each
        (["ab cd"], ["--least", "1"], 256 + 3 + 3, None),
        ([b"\xffab\xffab\xff"], [], 256 + 3 + 1, "ab"),
        (["ab ab"], ["--special", "<s>"], 256 + 1 + 1, "ab"),
    ],
)
def test_small(texts, options, vocab, last, tmp_path):
    run, out = learn(tmp_path, *texts, options=["--vocab", "300", *options])
    assert run.returncode == 0, run.stderr
    library = tokenizers.Tokenizer.from_file(str(out / "tokenizer.json"))
    assert library.get_vocab_size() == vocab
    assert last is None or last in library.get_vocab()


@pytest.mark.parametrize(
    ("texts", "options", "said"),
    [
        (["a"], [], "--vocab is missing"),
        (["a"], ["--vocab", "258"], "256 bytes and 3 special tokens are the least"),
        (["a"], ["--vocab", "300", "--special", "x", "--special", "x"], "there twice"),
        (["ab ab"], ["--vocab", "300", "--special", "ab"], "is a word of the text"),
        ([""], ["--vocab", "300"], "no text to learn from"),
        ([], ["--vocab", "300"], "name the files"),
    ],
)
def test_refused(texts, options, said, tmp_path):
    run, out = learn(tmp_path, *texts, options=options)
    assert run.returncode == 2
    assert said in run.stderr
    assert run.stderr.count("\n") == 1
    assert not out.exists()
