#!/usr/bin/env python3
"""How long an index of 50,000 examples takes to build, and a search in it.

    make all build/bench/retrieval && python3 bench/retrieval.py [--examples 50000] [--queries 200] [--keep DIR]

The corpus is made of our own problems and of tests/retrieval/corpus, each varied with a fixed seed:
names of its own are replaced, sizes drawn, statements repeated, so that no two are equal and words
are as unevenly common as in code that people wrote. It measures speed, never quality.
"""

import argparse
import json
import random
import re
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WARPGYM = ROOT / "warpgym"
SEARCH = ROOT / "build" / "bench" / "retrieval"
NOUNS = """batch head channel token feature row column tile block chunk group window kernel filter gate
    state hidden memory query key score weight bias scale shift mean variance norm residual branch
    stage level step phase grid cell node edge graph mask index offset stride depth width height
    sample patch frame pixel region anchor box label target logit loss margin center radius angle
    field wave signal spectrum band buffer cache queue slot lane bank page""".split()
FORMS = ["{a}", "{a}_{b}", "{a}{B}", "num_{a}", "{a}_{b}_{c}", "self_{a}", "cur_{a}", "{a}_{n}"]
RESERVED = set(
    """and as assert async await break class continue def del elif else except finally for from if
    import in is lambda not or pass raise return try while with yield None True False self super
    torch nn math range len int float forward Model ModelNew get_inputs get_init_inputs size_t const
    void double static inline include""".split()
)


def seeds():
    """(name, reference, solution) of everything that we have."""
    found = []
    for folder in sorted((ROOT / "problems" / "native").iterdir()):
        reference = (folder / "reference.c").read_text()
        found.append((folder.name, reference, (folder / "tests" / "fast.c").read_text()))
    for module in sorted((ROOT / "problems" / "torch").glob("*.py")):
        solution = module.parent / "tests" / f"{module.stem}.fast.py"
        found.append((module.stem, module.read_text(), solution.read_text()))
    for line in (ROOT / "tests" / "retrieval" / "corpus" / "pairs.jsonl").read_text().splitlines():
        pair = json.loads(line)
        found.append((pair["name"], pair["reference"], pair["solution"]))
    return found


def new_name(draw):
    # The first words are common, the last ones rare.
    a, b, c = (NOUNS[int(len(NOUNS) * draw.random() ** 2)] for _ in range(3))
    form = draw.choice(FORMS)
    return form.format(a=a, b=b, c=c, B=b.capitalize(), n=draw.randrange(1, 2000))


def varied(text, draw):
    """The same code with other names for what it defines, other numbers and some more lines."""
    own = set(re.findall(r"\b([A-Za-z_]\w{2,})\s*=[^=]", text)) - RESERVED
    names = {name: new_name(draw) for name in sorted(own) if draw.random() < 0.7}
    if names:
        pattern = re.compile(r"\b(" + "|".join(map(re.escape, names)) + r")\b")
        text = pattern.sub(lambda match: names[match.group()], text)
    text = re.sub(r"\b\d{2,4}\b", lambda _: str(draw.randrange(10, 5000)), text)
    lines = text.splitlines()
    body = [line for line in lines if line.startswith("        ") and line.strip()]
    for _ in range(draw.randrange(0, 12) if body else 0):
        lines.insert(draw.randrange(len(lines)), draw.choice(body))
    return "\n".join(lines) + f"\n# {new_name(draw)} {new_name(draw)}\n"


def write_corpus(path, count):
    draw = random.Random(20261123)
    start = seeds()
    with path.open("w") as out:
        for i in range(count):
            name, reference, solution = start[i % len(start)]
            line = {
                "entry_point": f"{name}_{new_name(draw)}",
                "python_code": varied(reference, draw),
                "triton_code": varied(solution, draw),
            }
            out.write(json.dumps(line) + "\n")


def run(*words):
    begin = time.perf_counter()
    done = subprocess.run([*map(str, words)], check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, words))}: {done.stderr}")
    return time.perf_counter() - begin, done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--examples", type=int, default=50000)
    parser.add_argument("--queries", type=int, default=610)
    parser.add_argument("--builds", type=int, default=3)
    parser.add_argument("--keep", type=Path, help="leave corpus and index there")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        corpus, index = folder / "corpus.jsonl", folder / "index"
        write_corpus(corpus, arguments.examples)
        build = (WARPGYM, "index", "build", index, corpus, "-q")
        builds = [run(*build)[0] for _ in range(arguments.builds)]
        size = sum(file.stat().st_size for file in index.iterdir())
        printed = run(SEARCH, index, ROOT / "problems", arguments.queries)[1]
    times = [float(line) for line in printed.splitlines()]
    cuts = statistics.quantiles(times, n=100)
    print(f"corpus   {arguments.examples} examples, index {size / 2**20:.0f} MiB")
    print(f"build    median {statistics.median(builds):.1f} s,", end=" ")
    print(f"{min(builds):.1f} to {max(builds):.1f}, {len(builds)} times")
    print(f"search   median {cuts[49]:.1f} ms, quartiles {cuts[24]:.1f} and {cuts[74]:.1f},", end=" ")
    print(f"p99 {cuts[98]:.1f} ms, {len(times)} questions")


if __name__ == "__main__":
    main()
