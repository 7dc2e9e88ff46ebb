"""What the model of the reproduction is fine-tuned on, and the library that it may retrieve from.

The crowd is that of demo/train (answers.py). Here it also takes further turns: after a failure an
author mends it more often than not, and one whose kernel is right may look for a faster way. And it
writes with an example in sight, which some take as their pattern.
"""

import json

import answers
import kernels

TURNS = 3
# Kinds of conversations, and their shares; the rest are exercises (single statements).
KINDS = {"answer": 0.3, "turns": 0.25, "example": 0.2}
MENDS = 0.6  # after a failure: a mistake, and each belief
HURRIES = 0.5  # after a success: those that look for a faster way
FOLLOWS = 0.5  # with an example: those that take its style, and none of their own beliefs
FAST = {"each": "fused", "row": "simd"}
# A kernel's speed beside the reference's, as the crowd has seen them.
SPEEDS = {
    "fused": (3, 8), "staged": (0.6, 1.5), "simd": (3, 8), "plain": (0.8, 1.2),
    "columns": (0.2, 0.6),
}  # fmt: skip
STATUS = {"talk": "no_code", "syntax": "compile_error"}


def shape(end):
    return "each" if end == "each" else "row"


def fails(author):
    return bool(author["mistake"] or author["believes"])


def status(rng, author):
    """What the judge would say, in the words of prompts/kernel/feedback.txt."""
    if fails(author):
        return STATUS.get(author["mistake"], "wrong")
    low, high = SPEEDS[author["style"]] if not author["calls"] else (0.3, 1)
    return f"passed {rng.uniform(low, high):.1f}"


def revised(rng, author, end):
    if not fails(author):
        style = FAST[shape(end)] if rng.random() < HURRIES else author["style"]
        return author | {"style": style, "calls": author["calls"] and style == author["style"]}
    mistake = "" if rng.random() < MENDS else author["mistake"]
    believes = {name for name in author["believes"] if rng.random() >= MENDS}
    return author | {"mistake": mistake, "believes": believes}


def several_turns(rng, steps, end):
    author = answers.draw_author(rng, steps, end)
    asked = kernels.words(steps, end)
    for _ in range(rng.randint(2, TURNS)):
        yield "user", asked
        yield "assistant", answers.answer(rng, steps, end, author)
        asked = status(rng, author)
        author = revised(rng, author, end)


def program(rng, steps, end):
    """A right and fast one, without the fence around it."""
    author = answers.careful(FAST[shape(end)])
    return answers.answer(rng, steps, end, author).removeprefix("```c\n").removesuffix("\n```")


def similar(rng, steps, end):
    """Another kernel that ends likewise and has one of the steps."""
    kept = rng.choice(steps)
    while True:
        others, _ = kernels.draw(rng, 1, 3)
        names = {name for name, _ in others}
        found = (*others[: rng.randint(0, 1)], kept, *others[1:])
        if kept[0] not in names and found != steps and kernels.worth_asking(found, end, kernels.TESTS):
            return found, end


def with_example(rng, steps, end):
    author = answers.draw_author(rng, steps, end)
    if rng.random() < FOLLOWS:
        author = author | {"style": FAST[shape(end)], "calls": False, "believes": set()}
    example = program(rng, *similar(rng, steps, end))
    yield "user", f"{example}\n{kernels.words(steps, end)}"
    yield "assistant", answers.answer(rng, steps, end, author)


def one_answer(rng, steps, end):
    author = answers.draw_author(rng, steps, end)
    yield "user", kernels.words(steps, end)
    yield "assistant", answers.answer(rng, steps, end, author)


WRITERS = {"answer": one_answer, "turns": several_turns, "example": with_example}


def conversation(rng, kernel, practised):
    """[(role, content), …]; `practised` are the steps of an exercise."""
    kind = answers.one_of(rng, KINDS)
    if kind:
        return list(WRITERS[kind](rng, *kernel))
    asked, answered = answers.exercise(rng, practised)
    return [("user", asked), ("assistant", answered)]


def entry(rng, name, kernel):
    """A line of the library (docs/guide/retrieval.md, form `pairs`)."""
    return json.dumps(
        {
            "name": name,
            "summary": kernels.words(*kernel),
            "language": "c",
            "reference": kernels.reference(*kernel),
            "solution": program(rng, *kernel),
        }
    )
