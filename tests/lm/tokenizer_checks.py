"""lm/tokenizer against the `tokenizers` library: tokenizers of the three families, made here, and
ten thousand lines that are hard to cut alike.
"""

import functools
import json
import os
import random
import struct
import subprocess
import unicodedata
from pathlib import Path

import pytest
from tokenizers import AddedToken, Regex, Tokenizer, decoders, normalizers, pre_tokenizers
from tokenizers import processors, trainers
from tokenizers.models import BPE

ROOT = Path(__file__).resolve().parents[2]
PROBE = Path(os.environ.get("TEST_BUILD", ROOT / "build" / "tests")) / "lm" / "tokenizer_probe"
LINES = 10_000
VOCAB = 3000

CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|"
REST = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN = CONTRACTIONS + r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|" + REST
LLAMA3 = CONTRACTIONS + r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|" + REST
CASED = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
ENDS = r"\p{Han}+|[\p{P}\p{S}]++|\d+|\s++$|^\s+|[^\s\d]"
QWEN_SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
QWEN_ADDED = ["<tool_call>", "</tool_call>", "<think>", "</think>"]


def corpus():
    files = sorted(ROOT.glob("src/gym/*.c")) + sorted(ROOT.glob("docs/*/*.md"))
    return [file.read_text() for file in files][:60] + ["深度学习 カーネル 커널 é ü 🚀 👩‍👩‍👧 naïve"] * 20


def older_marks():
    """Characters whose normal form the library knows: its tables are those of Unicode 9. A newer mark beside
    another one may come in another order."""
    library = normalizers.NFC()
    newer = {*range(0x10EFD, 0x10F00), 0x11F41, 0x11F42, 0x1E08F, *range(0x1E4EC, 0x1E4F0)}
    for code in range(0x300, 0x20000):
        text = f"a{chr(code)}\u0301\u0323{chr(code)}\u0315"
        if unicodedata.combining(chr(code)):
            if unicodedata.normalize("NFC", text) != library.normalize_str(text):
                newer.add(code)
    return [code for code in range(0x110000) if not 0xD800 <= code < 0xE000 and code not in newer]


class Lines:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.known = older_marks()
        self.written = "".join(corpus()).splitlines()

    def some(self, ranges, most):
        pick = self.random.choice
        spans = [pick(ranges) for _ in range(self.random.randint(1, most))]
        return "".join(chr(self.random.randint(first, last)) for first, last in spans)

    def parts(self, parts, most):
        return "".join(self.random.choice(parts) for _ in range(self.random.randint(1, most)))

    def code(self):
        return "\n".join(self.random.choice(self.written) for _ in range(2))

    def prose(self):
        words = "I'm we've THEY'RE don'ſ it'S she'll 1234567 3.14 $99 x² ½ Ⅷ naïve Straße ǅ ﬁ".split()
        return self.parts([*words, " ", "  ", ", ", ".\n", "!", " (", ") ", "'", '"'], 40)

    def cjk(self):
        ranges = [(0x4E00, 0x9FFF), (0x3041, 0x30FF), (0xAC00, 0xD7A3), (0x3000, 0x3020)]
        ranges += [(0xFF01, 0xFF5E), (0x20000, 0x323AF), (0x30, 0x39), (0xF900, 0xFAFF)]
        return self.some(ranges, 30)

    def emoji(self):
        parts = ["👩‍👩‍👧‍👦", "🏳️‍🌈", "🇩🇪", "🇯🇵", "👍🏽", "1️⃣", "❤️", "\u200d", "\ufe0f", "🫨", " ", "a"]
        return self.parts(parts, 20) + self.some([(0x1F300, 0x1FAFF)], 5)

    def marks(self):
        ranges = [(0x61, 0x7A), (0x300, 0x36F), (0x300, 0x345), (0x1100, 0x11FF), (0x915, 0x94D)]
        ranges += [(0xC0, 0x17F), (0x1E00, 0x1FFF), (0x5B0, 0x5EA), (0x2126, 0x212B), (0x20, 0x20)]
        return self.some(ranges, 30)

    def anything(self):
        pick = self.random.choice
        return "".join(chr(pick(self.known)) for _ in range(self.random.randint(1, 30)))

    def noise(self):
        text = self.random.randbytes(self.random.randint(1, 60)).decode("utf-8", "replace")
        return "".join(c for c in text if ord(c) < 0x300 or c == "\ufffd")

    def blanks(self):
        blanks = list(" \t\n\r\v\f\0\x1c\x85\xa0\u180e\u2003\u2028\u3000\u200b\ufeff") + ["   "]
        return self.parts([*blanks, *blanks, "a", "1", "-", "\r\n", "\n\n"], 25)

    def specials(self):
        parts = [*QWEN_SPECIAL, *QWEN_ADDED, "<|begin_of_text|>", "<|eot_id|>", "<|im_", "|>"]
        return self.parts([*parts, " ", "\n", "user", "<", "é", "e\u0301", "<|reserved_7|>"], 12)

    def lines(self, count):
        kinds = [self.code, self.prose, self.cjk, self.emoji, self.marks, self.anything]
        kinds += [self.noise, self.blanks, self.specials]
        return ["", " "] + [kinds[i % len(kinds)]() for i in range(count - 2)]


@functools.cache
def model(vocab, texts):
    """Vocabulary and merges, as JSON; of whole words, so that it fits any pattern."""
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = split(QWEN)
    trainer = trainers.BpeTrainer(
        vocab_size=vocab,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
        special_tokens=[],
    )
    tokenizer.train_from_iterator(texts, trainer)
    return json.loads(tokenizer.to_str())["model"]


def byte_level(pre_tokenizer, normalizer=None, special=(), added=(), vocab=VOCAB, texts=None):
    tokenizer = Tokenizer(BPE())
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    document = json.loads(tokenizer.to_str())
    document["model"] = model(vocab, tuple(texts or corpus()))
    tokenizer = Tokenizer.from_str(json.dumps(document))
    tokenizer.add_special_tokens([AddedToken(text, normalized=False) for text in special])
    tokenizer.add_tokens([AddedToken(text, normalized=False) for text in added])
    return tokenizer


def split(pattern, behavior="isolated", invert=False, **options):
    words = pre_tokenizers.Split(Regex(pattern), behavior, invert=invert)
    options = {"add_prefix_space": False, "use_regex": False} | options
    return pre_tokenizers.Sequence([words, pre_tokenizers.ByteLevel(**options)])


def gpt2(**model_of):
    words = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return byte_level(words, special=["<|endoftext|>"], **model_of)


def qwen(**model_of):
    return byte_level(split(QWEN), normalizers.NFC(), QWEN_SPECIAL, QWEN_ADDED, **model_of)


def llama3(**model_of):
    special = ["<|begin_of_text|>", "<|eot_id|>", *(f"<|reserved_{i}|>" for i in range(250))]
    tokenizer = byte_level(split(LLAMA3), None, special, **model_of)
    begin = ("<|begin_of_text|>", tokenizer.token_to_id("<|begin_of_text|>"))
    template = processors.TemplateProcessing(
        single=f"{begin[0]} $A", pair=f"{begin[0]} $A {begin[0]}:1 $B:1", special_tokens=[begin]
    )
    tokenizer.post_processor = processors.Sequence(
        [processors.ByteLevel(trim_offsets=False), template]
    )
    document = json.loads(tokenizer.to_str())
    merges = document["model"]["merges"]  # without some, words that only the vocabulary knows
    document["model"]["merges"] = [merge for i, merge in enumerate(merges) if i % 7]
    document["model"]["ignore_merges"] = True
    return Tokenizer.from_str(json.dumps(document))


def old_merges(tokenizer):
    """The same file with merges as "a b"."""
    document = json.loads(tokenizer.to_str())
    document["model"]["merges"] = [" ".join(pair) for pair in document["model"]["merges"]]
    return json.dumps(document, ensure_ascii=False)


FAMILIES = {"gpt2": gpt2, "qwen": qwen, "llama3": llama3}


def odd_tokens():
    tokenizer = byte_level(split(LLAMA3), normalizers.NFC())
    odd = [
        AddedToken("single", single_word=True, normalized=False),
        AddedToken("<l>", lstrip=True, normalized=False),
        AddedToken("<r>", rstrip=True, normalized=True),
        AddedToken("cafe\u0301", normalized=True),
        AddedToken("<l><r>", normalized=False),
    ]
    tokenizer.add_tokens(odd)
    tokenizer.add_special_tokens([AddedToken("<s>", lstrip=True, rstrip=True, special=True)])
    return tokenizer


def behaviors():
    for behavior in ("removed", "contiguous", "merged_with_previous", "merged_with_next"):
        for invert in (False, True):
            yield f"{behavior} {invert}", lambda b=behavior, i=invert: byte_level(
                split(r"\s|[\p{P}]|", b, i)
            )


def after(*splits, **options):
    return pre_tokenizers.Sequence([*splits, pre_tokenizers.ByteLevel(**options)])


PREFIX = {"add_prefix_space": True}
NO_PREFIX = {"add_prefix_space": False}
DIGITS = pre_tokenizers.Digits(individual_digits=True)
LITERAL = pre_tokenizers.Split("e", "merged_with_next")
VARIANTS = {
    "prefix space": lambda: byte_level(after(**PREFIX), added=["ab"]),
    "digits": lambda: byte_level(after(DIGITS, **NO_PREFIX)),
    "literal": lambda: byte_level(after(LITERAL, **NO_PREFIX)),
    "cased": lambda: byte_level(split(CASED), normalizers.Sequence([normalizers.NFC()])),
    "ends": lambda: byte_level(split(ENDS, **PREFIX), normalizers.NFD()),
    "odd tokens": odd_tokens,
    **dict(behaviors()),
}


def ours(file, texts, *words):
    data = b"".join(struct.pack("<I", len(text)) + text for text in texts)
    run = subprocess.run([PROBE, file, *words], input=data, capture_output=True, check=False)
    assert run.returncode == 0, run.stderr.decode()
    found, at = [], 0
    for _ in texts:
        (count,) = struct.unpack_from("<I", run.stdout, at)
        ids = list(struct.unpack_from(f"<{count}i", run.stdout, at + 4))
        at += 4 + 4 * count
        (count,) = struct.unpack_from("<I", run.stdout, at)
        found.append((ids, run.stdout[at + 4 : at + 4 + count]))
        at += 4 + count
    assert at == len(run.stdout)
    return found


def compare(tokenizer, text, file, lines):
    """Ids and texts, with and without special tokens, and streamed."""
    file.write_text(text)
    for words in (["special"], ["special", "begin", "skip"], ["stream"], ["skip"]):
        tokenizer.encode_special_tokens = "special" not in words
        expected = tokenizer.encode_batch(lines, add_special_tokens="begin" in words)
        found = ours(file, [line.encode() for line in lines], *words)
        wrong = [
            (line, their.ids, ids)
            for line, their, (ids, _) in zip(lines, expected, found, strict=True)
            if their.ids != ids
        ]
        assert not wrong, (words, len(wrong), wrong[0])
        decoded = tokenizer.decode_batch(
            [ids for ids, _ in found], skip_special_tokens="skip" in words
        )
        for line, their, (_, bytes_) in zip(lines, decoded, found, strict=True):
            assert their == bytes_.decode("utf-8", "replace"), (words, line)


@pytest.fixture(scope="module")
def lines():
    return Lines(7).lines(LINES)


@pytest.mark.parametrize("family", FAMILIES)
def test_families(family, lines, tmp_path):
    tokenizer = FAMILIES[family]()
    assert len(lines) == LINES
    text = old_merges(tokenizer) if family == "gpt2" else tokenizer.to_str()
    compare(tokenizer, text, tmp_path / "tokenizer.json", lines)
    round_trip(tmp_path / "tokenizer.json", family, lines)


def round_trip(file, family, lines):
    """Any bytes come back; texts that are in normal form, where the family asks for one."""
    draw = random.Random(11)
    pieces = [line.encode() for line in lines[:2000]]
    texts = [draw.randbytes(draw.randint(0, 80)) for _ in range(1000)]
    for piece in pieces:  # broken in the middle of characters
        at, length = draw.randrange(len(piece) + 1), draw.randrange(4)
        texts.append(piece[:at] + draw.randbytes(length) + piece[at + draw.randrange(3) :])
    if family == "qwen":
        texts = [
            text
            for text in texts
            if all(
                unicodedata.is_normalized("NFC", run)
                for run in text.decode("utf-8", "surrogateescape").split("\udc80")
            )
        ]
    assert len(texts) > 1000
    for words in ([], ["special"]):
        for text, (_, bytes_) in zip(texts, ours(file, texts, *words), strict=True):
            assert bytes_ == text


@pytest.mark.parametrize("name", VARIANTS)
def test_variants(name, lines, tmp_path):
    tokenizer = VARIANTS[name]()
    some = lines[:450] + [
        "a single singleton single. ésingle single",
        " <l>  <l> x <r>   <r>y<l><r> <s> <s>  z",
        "café cafe\u0301 cafe",
    ]
    compare(tokenizer, tokenizer.to_str(), tmp_path / "tokenizer.json", some)
