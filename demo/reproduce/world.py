"""What one seed of the reproduction is made of, in each of two worlds. Nothing of the conversations
and of the library has the steps of a problem.

    problems/…, train.txt, held_out.txt   as demo/train/data.py makes them
    pairs.jsonl, pairs.txt                conversations to fine-tune on; as text, for the tokenizer
    library.jsonl                         solved kernels (native)
"""

import json

import answers
import conversations
import data
import kernels
import modules


class Native(data.Writer):
    """Problems in C, as in the demonstration."""

    def free_kernel(self, least, most):
        while True:
            kernel = kernels.draw(self.rng, least, most)
            if kernels.meaning(kernel[0]) not in self.seen:
                return kernel

    def practised(self):
        while True:
            steps = answers.draw_steps(self.rng, len(kernels.LABELS))
            if kernels.meaning(steps) not in self.seen:
                return steps

    def conversation(self, kernel):
        return conversations.conversation(self.rng, kernel, self.practised())

    def conversations(self, count):
        with (
            open(self.folder / "pairs.jsonl", "w", encoding="utf-8") as lines,
            open(self.folder / "pairs.txt", "w", encoding="utf-8") as texts,
        ):
            for _ in range(count):
                said = self.conversation(self.free_kernel(data.LEAST, data.MOST))
                messages = [{"role": role, "content": content} for role, content in said]
                lines.write(json.dumps({"messages": messages}) + "\n")
                texts.writelines(f"{content}\n" for _, content in said)

    def library(self, count):
        with open(self.folder / "library.jsonl", "w", encoding="utf-8") as lines:
            for number in range(count):
                kernel = self.free_kernel(data.LEAST + 1, data.MOST)
                lines.write(conversations.entry(self.rng, f"library-{number:03}", kernel) + "\n")


class Modules(Native):
    """The same as PyTorch modules; no library."""

    prefix = "torch/"

    def problem(self, name, kernel):
        path = self.folder / "problems" / "torch" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(modules.problem(*kernel), encoding="utf-8")
        return path

    def conversation(self, kernel):
        if self.rng.random() < modules.EXERCISES:
            asked, answered = answers.exercise(self.rng, self.practised())
        else:
            author = modules.draw_author(self.rng, *kernel)
            asked = modules.problem(*kernel).rstrip("\n")
            answered = modules.answer(self.rng, *kernel, author)
        return [("user", asked), ("assistant", answered)]


WRITERS = {"native": Native, "modules": Modules}


def write(world, warpgym, folder, seed, size):
    """`size`: how many conversations, problems to train on and held out, and library entries."""
    writer = WRITERS[world](warpgym, folder, seed)
    writer.problems("held-out", size["held_out"])
    writer.problems("train", size["train"])
    writer.conversations(size["conversations"])
    if size["library"]:
        writer.library(size["library"])
