"""What a run of the demonstration is made of, by its seed:

    problems/train-000 …      to train on with reinforcement learning
    problems/held-out-000 …   to measure on, before and after
    train.txt, held_out.txt   names of those that `warpgym problem check` finds sound
    pairs.jsonl, pairs.txt    answers of a crowd to other kernels, to fine-tune on; the same as text

What the steps of a problem come to, those of no other problem and of no pair do.
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
    checked = subprocess.run(
        [warpgym, "problem", "check", *places], stdout=subprocess.PIPE, text=True, check=False
    )
    words = [line.split() for line in checked.stdout.splitlines()]
    return {line[0].rpartition("/")[2] for line in words if line[1:2] == ["sound"]}


class Writer:
    prefix = ""  # of the problems' ids

    def __init__(self, warpgym, folder, seed):
        self.warpgym, self.folder, self.rng = warpgym, folder, random.Random(seed)
        self.seen = set()  # what the steps of problems come to
        folder.mkdir(parents=True, exist_ok=True)

    def problem(self, name, kernel):
        place = self.folder / "problems" / name
        place.mkdir(parents=True, exist_ok=True)
        (place / "problem.yaml").write_text(kernels.problem(name, *kernel), encoding="utf-8")
        (place / "reference.c").write_text(kernels.reference(*kernel), encoding="utf-8")
        return place

    def problems(self, kind, count):
        places = []
        while len(places) < count + SPARE + count // 16:
            kernel = kernels.draw(self.rng, LEAST + 1, MOST)
            meaning = kernels.meaning(kernel[0])
            if meaning in self.seen:
                continue
            self.seen.add(meaning)
            places.append(self.problem(f"{kind}-{len(places):03}", kernel))
        good = sound(self.warpgym, places)
        kept = [place.stem for place in places if place.stem in good][:count]
        listed = self.folder / f"{kind.replace('-', '_')}.txt"
        listed.write_text("".join(f"{self.prefix}{name}\n" for name in kept), encoding="utf-8")

    def pair(self):
        """A kernel as one of the crowd writes it, and an exercise."""
        while True:
            kernel = kernels.draw(self.rng, LEAST, MOST)
            practised = answers.draw_steps(self.rng, len(kernels.LABELS))
            if not self.seen & {kernels.meaning(kernel[0]), kernels.meaning(practised)}:
                break
        author = answers.draw_author(self.rng, *kernel)
        yield kernels.words(*kernel), answers.answer(self.rng, *kernel, author)
        yield answers.exercise(self.rng, practised)

    def pairs(self, count):
        with (
            open(self.folder / "pairs.jsonl", "w", encoding="utf-8") as lines,
            open(self.folder / "pairs.txt", "w", encoding="utf-8") as texts,
        ):
            for _ in range(count // 2):
                for asked, answered in self.pair():
                    talk = [("user", asked), ("assistant", answered)]
                    messages = [{"role": role, "content": content} for role, content in talk]
                    lines.write(json.dumps({"messages": messages}) + "\n")
                    texts.write(f"{asked}\n{answered}\n")


def write(warpgym, folder, seed, size):
    """`size`: how many pairs, problems to train on, and held out."""
    writer = Writer(warpgym, folder, seed)
    writer.problems("held-out", size["held_out"])
    writer.problems("train", size["train"])
    writer.pairs(size["pairs"])
