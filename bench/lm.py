#!/usr/bin/env python3
"""The language-model engine beside Transformers: the same model, threads and work, in turn.

    make all && .venv-gym/bin/python bench/lm.py [--rounds 7] [--threads 2] [--config config.json]

Transformers makes a model (10 M parameters of the Qwen2 family), saves it, and both train and
decode it: `warpgym lm bench` with one round that counts, then PyTorch, again and again. Training is
forward, backward and AdamW over the same number of tokens; decoding is greedy with a cache of keys
and values, prompts not counted. Figures are medians and quartiles; ratios are of one round.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"
ROOT = Path(__file__).resolve().parents[1]
WARPGYM = ROOT / "warpgym"
BATCHES = (1, 8, 32)
TEN_MILLION = {
    "vocab_size": 8192,
    "hidden_size": 384,
    "intermediate_size": 1024,
    "num_hidden_layers": 4,
    "num_attention_heads": 6,
    "num_key_value_heads": 6,
    "max_position_embeddings": 2048,
    "tie_word_embeddings": True,
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--tokens", type=int, default=2048, help="of a training step")
    parser.add_argument("--length", type=int, default=512, help="of one of its sequences")
    parser.add_argument("--prompt", type=int, default=32)
    parser.add_argument("--answer", type=int, default=64)
    parser.add_argument("--config", type=Path, help="a config.json of Qwen2")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


class Transformers:
    """The other side. PyTorch is imported late: after the options have been read."""

    def __init__(self, options, directory):
        import torch
        import transformers

        transformers.logging.set_verbosity_error()
        torch.set_num_threads(options.threads)
        torch.manual_seed(0)
        shape = json.loads(options.config.read_text()) if options.config else TEN_MILLION
        config = transformers.Qwen2Config(**shape, attn_implementation="sdpa")
        config.bos_token_id = config.eos_token_id = config.pad_token_id = None
        self.torch, self.options = torch, options
        self.versions = f"Transformers {transformers.__version__}, PyTorch {torch.__version__}"
        self.model = transformers.Qwen2ForCausalLM(config).to(torch.float32)
        self.model.save_pretrained(directory)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-6, weight_decay=0.01)
        vocab = config.vocab_size
        rows = options.tokens // options.length
        self.batch = torch.randint(0, vocab, (rows, options.length))
        self.prompts = torch.randint(0, vocab, (max(BATCHES), options.prompt))

    def products(self):
        """Operations a second of a large square product, to see that both have the same machine."""
        left, right = (self.torch.zeros(2048, 2048) for _ in range(2))
        start = time.perf_counter()
        for _ in range(4):
            self.torch.mm(left, right)
        return 4 * 2 * 2048**3 / (time.perf_counter() - start)

    def train(self):
        self.model.train()
        start = time.perf_counter()
        self.optimizer.zero_grad(set_to_none=True)
        self.model(input_ids=self.batch, labels=self.batch, use_cache=False).loss.backward()
        self.torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        return self.batch.numel() / (time.perf_counter() - start)

    def generate(self, batch, tokens):
        start = time.perf_counter()
        self.model.generate(
            self.prompts[:batch],
            attention_mask=self.torch.ones_like(self.prompts[:batch]),
            do_sample=False,
            min_new_tokens=tokens,
            max_new_tokens=tokens,
        )
        return time.perf_counter() - start

    def decode(self, batch):
        """What the answer's tokens but the first take: a generation less one of a single token."""
        self.model.eval()
        first = self.generate(batch, 1)
        whole = self.generate(batch, self.options.answer + 1)
        return batch * self.options.answer / (whole - first)

    def round(self):
        rates = {"products": self.products(), "training": self.train()}
        return rates | {f"decoding {batch}": self.decode(batch) for batch in BATCHES}


def warpgym_round(options, directory):
    command = [WARPGYM, "lm", "bench", directory, "--json", "--quiet", "--rounds", "1"]
    command += ["--threads", str(options.threads), "--length", str(options.length)]
    command += ["--batch-tokens", str(options.tokens)]
    command += ["--prompt", str(options.prompt), "--answer", str(options.answer)]
    for batch in BATCHES:
        command += ["--batch", str(batch)]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    figures = json.loads(run.stdout)["figures"]
    return (
        {figure["name"]: figure["rate"]["median"] for figure in figures},
        {figure["name"]: figure["share"]["median"] for figure in figures if figure["share"]},
    )


def spread(values):
    values = sorted(values)
    low, _, high = statistics.quantiles(values, method="inclusive") if values[1:] else values * 3
    return {"median": statistics.median(values), "quartile1": low, "quartile3": high}


def measure(options):
    ours, theirs, shares = [], [], []
    with tempfile.TemporaryDirectory(prefix="warpgym-bench-") as directory:
        other = Transformers(options, directory)
        other.round()
        for number in range(options.rounds):
            rates, share = warpgym_round(options, directory)
            ours.append(rates)
            shares.append(share)
            theirs.append(other.round())
            print(f"round {number + 1} of {options.rounds}", file=sys.stderr)
    figures = {}
    for name in theirs[0]:
        figures[name] = {
            "warpgym": spread([rates[name] for rates in ours]),
            "transformers": spread([rates[name] for rates in theirs]),
            "ratio": spread([a[name] / b[name] for a, b in zip(ours, theirs, strict=True)]),
        }
        if name in shares[0]:
            figures[name]["share"] = spread([share[name] for share in shares])
    return {"versions": other.versions, "threads": options.threads, "figures": figures}


def text(value, scale=1.0, digits=0):
    numbers = (value[key] * scale for key in ("median", "quartile1", "quartile3"))
    return "{:.{d}f} [{:.{d}f}, {:.{d}f}]".format(*numbers, d=digits)


def main():
    options = arguments()
    found = measure(options)
    if options.json:
        print(json.dumps(found))
        return
    print(f"{found['versions']}, {found['threads']} threads, {options.rounds} rounds")
    row = "{:<12} {:>24} {:>24} {:>22} {:>18}"
    print(row.format("", "warpgym", "Transformers", "ratio", "share of bound, %"))
    for name, figure in found["figures"].items():
        scale = 1e-9 if name == "products" else 1
        share = text(figure["share"], 100) if "share" in figure else ""
        print(
            row.format(
                name,
                text(figure["warpgym"], scale),
                text(figure["transformers"], scale),
                text(figure["ratio"], digits=2),
                share,
            )
        )


if __name__ == "__main__":
    main()
