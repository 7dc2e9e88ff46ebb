"""What a run of the demonstration is made of, by its seed:

    problems/train-000 …      to train on with reinforcement learning
    problems/held-out-000 …   to measure on, before and after
    train.txt, held_out.txt   names of those that `warpgym problem check` finds sound
    pairs.jsonl, pairs.txt    answers of a crowd to other kernels, to fine-tune on; the same as text

The steps of a problem are those of no other problem and of no pair.
"""

import json
import random
import subprocess

import answers
import kernels

SPARE = 2  # and one of 16: problems may turn out to be unsound
LEAST, MOST = 1, 4  # steps of the pairs; problems have at least two


def sound(warpgym, places):
    """Names of problems that no answer can pass without the work."""
    told = subprocess.run(
        [warpgym, "problem", "check", *places], stdout=subprocess.PIPE, text=True, check=False
    )
    words = [line.split() for line in told.stdout.splitlines()]
    return {line[0] for line in words if line[1:2] == ["sound"]}


def write_problems(warpgym, folder, name, count, rng, seen):
    names, places = [], []
    while len(names) < count + SPARE + count // 16:
        kernel = kernels.draw(rng, LEAST + 1, MOST)
        if kernel[0] in seen:
            continue
        seen.add(kernel[0])
        names.append(f"{name}-{len(names):03}")
        place = folder / "problems" / names[-1]
        place.mkdir(parents=True, exist_ok=True)
        places.append(place)
        (place / "problem.yaml").write_text(kernels.problem(names[-1], *kernel), encoding="utf-8")
        (place / "reference.c").write_text(kernels.reference(*kernel), encoding="utf-8")
    listed = folder / f"{name.replace('-', '_')}.txt"
    good = sound(warpgym, places)
    kept = [name for name in names if name in good][:count]
    listed.write_text("\n".join(kept) + "\n", encoding="utf-8")


def write_pairs(folder, count, rng, seen):
    """Half of them are exercises, and half the kernels of a crowd."""
    pairs = []
    while len(pairs) < count:
        kernel = kernels.draw(rng, LEAST, MOST)
        practised = answers.draw_steps(rng, len(kernels.LETTERS))
        if kernel[0] in seen or practised in seen:
            continue
        author = answers.draw_author(rng, *kernel)
        pairs.append((kernels.words(*kernel), answers.answer(rng, *kernel, author)))
        pairs.append(answers.exercise(rng, practised))
    with (
        open(folder / "pairs.jsonl", "w", encoding="utf-8") as lines,
        open(folder / "pairs.txt", "w", encoding="utf-8") as texts,
    ):
        for asked, answered in pairs:
            talk = [("user", asked), ("assistant", answered)]
            messages = [{"role": role, "content": content} for role, content in talk]
            lines.write(json.dumps({"messages": messages}) + "\n")
            texts.write(f"{asked}\n{answered}\n")


def write(warpgym, folder, seed, pairs, train, held_out):
    rng = random.Random(seed)
    seen = set()
    folder.mkdir(parents=True, exist_ok=True)
    write_problems(warpgym, folder, "held-out", held_out, rng, seen)
    write_problems(warpgym, folder, "train", train, rng, seen)
    write_pairs(folder, pairs, rng, seen)
