"""Whether what is found helps: examples of the same category among the first three.

Each problem of ours is held out in turn, one of each category at a time: the index holds the
others with their solutions, and the pairs of tests/retrieval/corpus. Words alone count; the
category itself is neither indexed nor asked for.
"""

import json
import re
from collections import Counter

from support import CHECKOUT, PASSED, write_lines

SHARE = 0.9
PAIRS = CHECKOUT / "tests" / "retrieval" / "corpus" / "pairs.jsonl"


def examples():
    """The lines of the corpus, and which problem has which category."""
    lines, categories = [], {}

    def add(problem, category, reference, solution, *, summary, language):
        categories[problem] = category
        name = problem.removeprefix("torch/")
        line = {"name": name, "summary": summary, "problem": problem, "category": category}
        texts = {"reference": reference.read_text(), "solution": solution.read_text()}
        lines.append(line | {"language": language} | texts)

    for folder in sorted((CHECKOUT / "problems" / "native").iterdir()):
        yaml = (folder / "problem.yaml").read_text()
        category = re.search(r"^category: (\w+)$", yaml, re.MULTILINE).group(1)
        summary = re.search(r"^summary: (.*)$", yaml, re.MULTILINE).group(1)
        for language, file in (("c", "fast.c"), ("cuda", "fast.cu")):
            solution = folder / "tests" / file
            if solution.exists():
                reference = folder / "reference.c"
                add(folder.name, category, reference, solution, summary=summary, language=language)
    for module in sorted((CHECKOUT / "problems" / "torch").glob("*.py")):
        text = module.read_text()
        category = re.search(r"^Category: (\w+)$", text, re.MULTILINE).group(1)
        solution = module.parent / "tests" / f"{module.stem}.fast.py"
        problem, summary = f"torch/{module.stem}", text[3:].splitlines()[0]
        add(problem, category, module, solution, summary=summary, language="python")
    return lines, categories


def test_examples_of_the_same_category_come_first(warpgym, tmp_path):
    lines, categories = examples()
    pairs = [json.loads(line) for line in PAIRS.read_text().splitlines()]
    members = Counter(categories.values())
    asked = [name for name, category in categories.items() if members[category] >= 2]
    assert len(asked) > 50
    turns, missed = Counter(), []
    turn_of = {}
    for name in asked:
        turn_of[name] = turns[categories[name]]
        turns[categories[name]] += 1
    for turn in range(max(turns.values())):
        held_out = [name for name in asked if turn_of[name] == turn]
        others = [line for line in lines if line["problem"] not in held_out]
        write_lines(tmp_path / "others.jsonl", others + pairs)
        assert warpgym("index", "build", "others", "others.jsonl", "-q").status == PASSED
        for name in held_out:
            run = warpgym("index", "search", "others", "--problem", name, "--json")
            found = [json.loads(line) for line in run.out.splitlines()]
            if categories[name] not in [example["category"] for example in found]:
                missed.append((name, [example["name"] for example in found]))
    share = 1 - len(missed) / len(asked)
    print(f"\n{len(asked)} problems, of {share:.1%} an example of the same category in the first 3")
    assert share >= SHARE, missed


def test_the_problem_itself_never_comes(warpgym):
    _, categories = examples()
    assert warpgym("index", "build", "own", "--own", "-q").status == PASSED
    for name in categories:
        run = warpgym("index", "search", "own", "--problem", name, "-n", "10", "--json")
        found = [json.loads(line)["problem"] for line in run.out.splitlines()]
        assert found and name not in found
