#!/usr/bin/env python3
"""Do the first three examples share the question's main operation?

    bench/retrieval_quality.py INDEX LANGUAGE QUESTION.py… [-s NAME=VALUE …]

Questions are modules in KernelBench's manner. For each, `warpgym index search` names three examples
of the language; the question's operation that costs the most, by the table below, is compared with
those of their references. One row for each ranking that index and settings have; -v names misses.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
WARPGYM = os.environ.get("TEST_WARPGYM", str(ROOT / "warpgym"))
EXAMPLES = 3
# The first that a module uses is its main one.
OPERATIONS = {
    "transposed convolution": r"conv_?transpose",
    "convolution": r"\bconv\d?d?\b|conv[123]d",
    "recurrence": r"\bnn\.(lstm|gru|rnn)",
    "attention": r"scaled_dot_product|attention",
    "matrix product": r"matmul|bmm|torch\.mm\b|einsum|linear\(|addmm|\w\s@\s\w|tensordot",
    "normalisation": r"(batch|layer|instance|group|rms)_?norm|normalize|torch\.norm|linalg",
    "pooling": r"pool",
    "scan": r"cumsum|cumprod",
    "loss": r"loss|cross_entropy|kl_div",
    "softmax": r"softmax|logsumexp",
    "reduction": r"(torch|\w)\.(sum|mean|max|min|argmax|argmin|prod|amax|amin|std|var)\(",
    "element by element": r"",
}


def main_operation(text):
    """Of a module's code, without comments and what makes its inputs."""
    code = re.sub(r'"""[\s\S]*?"""|#.*', "", text).split("def get_inputs")[0]
    return next(name for name, form in OPERATIONS.items() if re.search(form, code, re.IGNORECASE))


def search(options, question, ranking):
    words = [WARPGYM, "index", "search", options.index, "--problem", question, "--json"]
    words += ["--language", options.language, "-n", str(EXAMPLES), *options.settings]
    words += ["-s", f"retrieval.ranking={ranking}"]
    run = subprocess.run(words, check=False, capture_output=True, text=True, timeout=600)
    if run.returncode:
        sys.exit(run.stderr)
    return [json.loads(line) for line in run.stdout.splitlines()]


def row(options, ranking):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        every = list(pool.map(lambda one: search(options, one, ranking), options.questions))
    found = any_of = first = 0
    for path, examples in zip(options.questions, every, strict=True):
        wanted = main_operation(path.read_text(encoding="utf-8"))
        given = [main_operation(example["reference"]) for example in examples]
        any_of += wanted in given
        first += given[:1] == [wanted]
        found += given.count(wanted)
        if options.verbose and wanted not in given:
            names = [example["name"] for example in examples]
            print(f"  {path.stem}: {wanted}; {dict(zip(names, given, strict=True))}")
    count = len(options.questions)
    print(
        f"{ranking}: {any_of / count:.1%} have it among {EXAMPLES}, {first / count:.1%} first, "
        f"{found / max(1, sum(map(len, every))):.1%} of all examples ({count} questions)"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("index")
    parser.add_argument("language")
    parser.add_argument("questions", nargs="+", type=pathlib.Path)
    parser.add_argument("-s", dest="settings", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("-v", dest="verbose", action="store_true")
    options = parser.parse_args()
    dense = any(setting.startswith("retrieval.embeddings_model=") for setting in options.settings)
    options.settings = [word for setting in options.settings for word in ("-s", setting)]
    for ranking in ("words", "vectors", "both") if dense else ("words",):
        row(options, ranking)


if __name__ == "__main__":
    main()
