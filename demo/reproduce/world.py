"""What one seed of the reproduction is made of: the problems of demo/train, conversations to
fine-tune on, and a library of solved kernels. Nothing of them has the steps of a problem.

    problems/…, train.txt, held_out.txt   as demo/train/data.py makes them
    pairs.jsonl, pairs.txt                conversations; the same as text, for the tokenizer
    library.jsonl                         solved kernels
"""

import json

import answers
import conversations
import data
import kernels


class Writer(data.Writer):
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

    def conversations(self, count):
        with (
            open(self.folder / "pairs.jsonl", "w", encoding="utf-8") as lines,
            open(self.folder / "pairs.txt", "w", encoding="utf-8") as texts,
        ):
            for _ in range(count):
                kernel = self.free_kernel(data.LEAST, data.MOST)
                said = conversations.conversation(self.rng, kernel, self.practised())
                messages = [{"role": role, "content": content} for role, content in said]
                lines.write(json.dumps({"messages": messages}) + "\n")
                texts.writelines(f"{content}\n" for _, content in said)

    def library(self, count):
        with open(self.folder / "library.jsonl", "w", encoding="utf-8") as lines:
            for number in range(count):
                kernel = self.free_kernel(data.LEAST + 1, data.MOST)
                lines.write(conversations.entry(self.rng, f"library-{number:03}", kernel) + "\n")


def write(warpgym, folder, seed, size):
    """`size`: how many conversations, problems to train on and held out, and library entries."""
    writer = Writer(warpgym, folder, seed)
    writer.problems("held-out", size["held_out"])
    writer.problems("train", size["train"])
    writer.conversations(size["conversations"])
    writer.library(size["library"])
