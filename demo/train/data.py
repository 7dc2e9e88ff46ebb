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
    lines, texts = [], []
    while len(lines) < count:
        kernel = kernels.draw(rng, LEAST, MOST)
        if kernel in seen:
            continue
        written = answers.answer(rng, *kernel, answers.draw_author(rng, *kernel))
        asked = kernels.prompt(*kernel)
        messages = [{"role": "user", "content": asked}, {"role": "assistant", "content": written}]
        lines.append(json.dumps({"messages": messages}) + "\n")
        texts.append(f"{asked}\n{written}\n")
    (folder / "pairs.jsonl").write_text("".join(lines), encoding="utf-8")
    (folder / "pairs.txt").write_text("".join(texts), encoding="utf-8")


def write(folder, seed, pairs, train, held_out):
    rng = random.Random(seed)
    seen = set()
    folder.mkdir(parents=True, exist_ok=True)
    write_problems(folder, "held-out", held_out, rng, seen)
    write_problems(folder, "train", train, rng, seen)
    write_pairs(folder, pairs, rng, seen)
