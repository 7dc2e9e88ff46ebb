"""What a run of the demonstration is made of, by its seed:

    problems/train-000 …      to train on with reinforcement learning
    problems/held-out-000 …   to measure on, before and after
    train.txt, held_out.txt   their names
    pairs.jsonl, pairs.txt    answers of a crowd to other kernels, to fine-tune on; the same as text

No two of these kernels are the same.
"""

import json
import random

import answers
import kernels

LEAST, MOST = 1, 4  # steps of the pairs; problems have at least two


def write_problems(folder, name, count, rng, seen):
    names = []
    while len(names) < count:
        kernel = kernels.draw(rng, LEAST + 1, MOST)
        if kernel in seen:
            continue
        seen.add(kernel)
        names.append(f"{name}-{len(names):03}")
        place = folder / "problems" / names[-1]
        place.mkdir(parents=True, exist_ok=True)
        (place / "problem.yaml").write_text(kernels.problem(names[-1], *kernel), encoding="utf-8")
        (place / "reference.c").write_text(kernels.reference(*kernel), encoding="utf-8")
    listed = folder / f"{name.replace('-', '_')}.txt"
    listed.write_text("\n".join(names) + "\n", encoding="utf-8")


def write_pairs(folder, count, rng, seen):
    """Half of them are exercises, and half the kernels of a crowd."""
    pairs = []
    while len(pairs) < count:
        kernel = kernels.draw(rng, LEAST, MOST)
        if kernel in seen:
            continue
        author = answers.draw_author(rng, *kernel)
        pairs.append((kernels.words(*kernel), answers.answer(rng, *kernel, author)))
        pairs.append(answers.exercise(rng, len(kernels.LETTERS)))
    with (
        open(folder / "pairs.jsonl", "w", encoding="utf-8") as lines,
        open(folder / "pairs.txt", "w", encoding="utf-8") as texts,
    ):
        for asked, answered in pairs:
            talk = [("user", asked), ("assistant", answered)]
            messages = [{"role": role, "content": content} for role, content in talk]
            lines.write(json.dumps({"messages": messages}) + "\n")
            texts.write(f"{asked}\n{answered}\n")


def write(folder, seed, pairs, train, held_out):
    rng = random.Random(seed)
    seen = set()
    folder.mkdir(parents=True, exist_ok=True)
    write_problems(folder, "held-out", held_out, rng, seen)
    write_problems(folder, "train", train, rng, seen)
    write_pairs(folder, pairs, rng, seen)
