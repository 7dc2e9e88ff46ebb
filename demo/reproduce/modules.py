"""The same family of problems as PyTorch modules, where being lazy pays early: library operators are
easy to get right, and a chain of them that works in place is somewhat faster than the reference. A
loop of one's own in C++ does all steps in one pass, which is faster still, and has more to go wrong.

    own      one loop of its own for all steps; the crowd's mistakes and beliefs
    trifle   the first step in a loop of its own, library operators for the others
    lazy     library operators alone
"""

import answers
import kernels

STYLES = {"lazy": 0.5, "trifle": 0.2, "own": 0.3}
IN_PLACE = 0.5  # of those with library operators
STEPS = {  # an operator, and the same in place
    "times z": ("v * z", "v.mul_(z)"),
    "plus z": ("v + z", "v.add_(z)"),
    "minus z": ("v - z", "v.sub_(z)"),
    "times": ("v * C", "v.mul_(C)"),
    "plus": ("v + C", "v.add_(C)"),
    "minus": ("v - C", "v.sub_(C)"),
    "squared": ("v * v", "v.mul_(v)"),
    "negated": ("-v", "v.neg_()"),
    "absolute": ("v.abs()", "v.abs_()"),
    "relu": ("torch.relu(v)", "v.relu_()"),
    "at least": ("v.clamp(min=C)", "v.clamp_(min=C)"),
    "at most": ("v.clamp(max=C)", "v.clamp_(max=C)"),
}
ROWS = {
    "sum": "v.sum(1)",
    "mean": "v.mean(1)",
    "largest": "v.amax(1)",
    "smallest": "v.amin(1)",
}
SHAPE = (512, 1024)
EXERCISES = 0.25  # share of conversations that are statements of C alone


def has_z(steps):
    return kernels.has_z(steps)


def inputs(steps):
    return "x, z" if has_z(steps) else "x"


def operators(steps, in_place=False, left_out=()):
    """Lines of forward, on v; `left_out`: numbers of steps."""
    for number, said in enumerate(kernels.labelled(steps)):
        if number in left_out:
            continue
        name, constant = steps[number]
        text = STEPS[name][in_place].replace("C", constant)
        yield f"{text if in_place else f'v = {text}'}  # {said}"


def ended(end):
    return "v" if end == "each" else ROWS[end]


def module(name, lines, steps, head=""):
    body = "".join(f"        {line}\n" for line in lines)
    return (
        f"import torch\n{head}\n\nclass {name}(torch.nn.Module):\n"
        f"    def forward(self, {inputs(steps)}):\n{body}"
    )


def problem(steps, end):
    """A KernelBench module."""
    draws = ", ".join(f"torch.randn{SHAPE}" for _ in inputs(steps).split(", "))
    lines = ["v = x", *operators(steps), f"return {ended(end)}"]
    return (
        f"{module('Model', lines, steps)}\n\ndef get_inputs():\n    return [{draws}]\n\n\n"
        "def get_init_inputs():\n    return []\n"
    )


def extension(steps, end, author, rng):
    """Source in C++ and what builds it."""
    pointers = ["const float *x = tx.data_ptr<float>();"]
    if has_z(steps):
        pointers.append("const float *z = tz.data_ptr<float>();")
    lines = answers.statements(rng, steps, author)
    plain = author | {"style": "fused" if end == "each" else author["loop"]}
    if end == "each":
        made = ["auto out = torch::empty_like(tx);", "const size_t n = tx.numel();"]
        body = answers.each_body(lines, plain)
    else:
        made = ["const size_t rows = tx.size(0), cols = tx.size(1);",
                "auto out = torch::empty({tx.size(0)});"]  # fmt: skip
        body = answers.row_body(lines, end, plain)
    parameters = ", ".join(f"torch::Tensor t{name}" for name in inputs(steps).split(", "))
    whole = [*pointers, *made, "float *y = out.data_ptr<float>();", *body, "return out;"]
    code = "".join(f"    {line}\n" for line in whole)
    return (
        "from torch.utils.cpp_extension import load_inline\n\n"
        f'code = """\n#include <cmath>\nusing std::fabs;\ntorch::Tensor run({parameters})\n{{\n'
        f'{code}}}\n"""\nrun = load_inline("run", code, functions=["run"]).run\n'
    )


def own(rng, steps, end, author):
    head = extension(steps, end, author, rng)
    return module("ModelNew", [f"return run({inputs(steps)})"], steps, head)


def trifle(rng, steps, end, author):
    first = steps[:1]
    head = extension(first, "each", author, rng)
    lines = [f"v = run({inputs(first)})", *operators(steps, author["in_place"], {0})]
    return module("ModelNew", [*lines, f"return {ended(end)}"], steps, head)


def lazy(rng, steps, end, author):
    start = "v = x.clone()" if author["in_place"] else "v = x"
    left_out = {rng.randrange(len(steps))} if author["mistake"] == "forgotten" else ()
    lines = [start, *operators(steps, author["in_place"], left_out)]
    return module("ModelNew", [*lines, f"return {ended(end)}"], steps)


WRITERS = {"own": own, "trifle": trifle, "lazy": lazy}


def careful(style):
    return answers.careful(style) | {"in_place": True, "loop": "simd"}


def draw_author(rng, steps, end):
    author = answers.draw_author(rng, steps, end)
    style = answers.one_of(rng, STYLES)
    if style != "own" and author["mistake"] not in ("talk", "forgotten"):
        author |= {"mistake": "", "believes": set()}
    loop = "simd" if author["style"] == "simd" else "plain"
    return author | {"style": style, "loop": loop, "in_place": rng.random() < IN_PLACE, "calls": False}


def answer(rng, steps, end, author):
    if author["mistake"] == "talk":
        return answers.TALK
    if author["style"] == "trifle":
        author = author | {"mistake": ""}
    return f"```python\n{WRITERS[author['style']](rng, steps, end, author)}```"
