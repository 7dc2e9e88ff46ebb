"""Answers to kernels.py's problems, as a crowd of programmers writes them: some are careful, some
slip, some believe what is not so; and of two right answers one may be ten times as fast.

What a model learns from them is all of that, in these shares. It learns the rest from the judge.
"""

import kernels

# What happens to anybody, and how often.
MISTAKES = {
    "bound": 0.07,  # one element too many
    "first": 0.04,  # begins with the second element
    "forgotten": 0.08,  # a step is missing
    "operator": 0.07,  # plus for minus, and the like
    "syntax": 0.05,  # half a statement
    "talk": 0.05,  # no code at all
}
# What many believe, and how many of them.
BELIEFS = {
    "absolute": 0.5,  # abs() is for floats, too
    "at most": 0.5,  # is the greater of two
    "mean": 0.5,  # of a row is its sum by the number of rows
    "largest": 0.5,  # begins with 0
    "smallest": 0.5,
}
# Elements: one loop, or one for each step. Rows: a loop in a loop; the loops the other way round,
# which walks through memory in strides; or a sum that the compiler may reorder.
STYLES = {
    "each": {"fused": 0.5, "staged": 0.5},
    "row": {"plain": 0.5, "columns": 0.35, "simd": 0.15},
}
CALLERS = 0.4  # write fmax and fmin, whose rules for NaN keep a loop from vectors

STATEMENTS = {
    "times z": "v *= z[i];",
    "plus z": "v += z[i];",
    "minus z": "v -= z[i];",
    "times": "v *= C;",
    "plus": "v += C;",
    "minus": "v -= C;",
    "squared": "v *= v;",
    "negated": "v = -v;",
    "absolute": "v = fabs(v);",
    "relu": "v = v > 0 ? v : 0;",
    "at least": "v = v > C ? v : C;",
    "at most": "v = v < C ? v : C;",
}
CALLS = {
    "relu": "v = fmax(v, 0);",
    "at least": "v = fmax(v, C);",
    "at most": "v = fmin(v, C);",
}
BELIEVED = {"absolute": "v = abs(v);", "at most": STATEMENTS["at least"]}
SLIPS = {
    "times z": "v += z[i];",
    "plus z": "v -= z[i];",
    "minus z": "v += z[i];",
    "times": "v += C;",
    "plus": "v -= C;",
    "minus": "v += C;",
    "squared": "v += v;",
    "at least": "v = v < C ? v : C;",
}
INCLUDES = "#include <stddef.h>\n#include <tgmath.h>\n\n"
TALK = "It goes over the elements and keeps a value for each of them."


def careful(style, calls=False):
    """An author without mistakes."""
    return {"mistake": "", "believes": set(), "style": style, "calls": calls}


def one_of(rng, shares):
    """A key by its share; none of them where the shares end below 1."""
    left = rng.random()
    for name, share in shares.items():
        left -= share
        if left < 0:
            return name
    return ""


def draw_author(rng, steps, end):
    parts = {name for name, _ in steps} | {end}
    return {
        "mistake": one_of(rng, MISTAKES),
        "believes": {name for name, share in BELIEFS.items() if rng.random() < share} & parts,
        "style": one_of(rng, STYLES["each" if end == "each" else "row"]),
        "calls": rng.random() < CALLERS,
    }


def statements(rng, steps, author):
    table = STATEMENTS | (CALLS if author["calls"] else {})
    table = table | {name: BELIEVED[name] for name in author["believes"] & set(BELIEVED)}
    texts = [table[name] for name, _ in steps]
    able = [k for k, (name, _) in enumerate(steps) if name in SLIPS]
    if author["mistake"] == "operator" and able:
        slip = rng.choice(able)
        texts[slip] = SLIPS[steps[slip][0]]
    lines = [
        f"/* {said} */ " + text.replace("C", kernels.literal(constant))
        for said, text, (_, constant) in zip(kernels.labelled(steps), texts, steps, strict=True)
    ]
    if author["mistake"] == "forgotten":
        del lines[rng.randrange(len(lines))]
    if author["mistake"] == "syntax":
        lines.append("v = v")
    return lines


def loop(variable, bound, author):
    first = "1" if author["mistake"] == "first" else "0"
    less = "<=" if author["mistake"] == "bound" else "<"
    return f"for (size_t {variable} = {first}; {variable} {less} {bound}; {variable}++)"


def block(head, lines):
    return [f"{head} {{", *(f"    {line}" for line in lines), "}"]


def each_body(lines, author):
    head = loop("i", "n", author)
    if author["style"] == "fused" or not lines:
        return block(head, ["float v = x[i];", *lines, "y[i] = v;"])
    out = []
    for k, line in enumerate(lines):
        out += block(head, [f"float v = {'y' if k else 'x'}[i];", line, "y[i] = v;"])
    return out


def row_body(lines, end, author):
    _, start, take, _ = kernels.ROWS[end]
    divide = " / cols" if end == "mean" else ""
    if end in author["believes"]:
        start, divide = "0", divide.replace("cols", "rows")
    element = ["size_t i = r * cols + c;", "float v = x[i];", *lines]
    if author["style"] == "columns":
        rows = loop("r", "rows", careful(""))
        out = [rows, f"    y[r] = {start};"]
        out += block(
            loop("c", "cols", author), block(rows, [*element, take.replace("t ", "y[r] ")])
        )
        out[-3] = out[-3].replace(": t;", ": y[r];")
        return [*out, rows, f"    y[r] = y[r]{divide};"] if divide else out
    sign = {"largest": "max", "smallest": "min"}.get(end, "+")
    pragma = [f"#pragma omp simd reduction({sign}:t)"] if author["style"] == "simd" else []
    inner = block(loop("c", "cols", author), [*element, take])
    return block(
        loop("r", "rows", careful("")),
        [f"float t = {start};", *pragma, *inner, f"y[r] = t{divide};"],
    )


def draw_steps(rng, most):
    names = rng.sample(sorted(STATEMENTS), rng.randint(1, most))
    return tuple((n, rng.choice(kernels.CONSTANTS) if "C" in STATEMENTS[n] else "") for n in names)


def exercise(rng, steps):
    """Question and answer: the statements of some steps, and nothing around them."""
    lines = statements(rng, steps, careful(""))
    return f"steps of {kernels.words(steps, 'each')}", "\n".join(lines)


def answer(rng, steps, end, author):
    if author["mistake"] == "talk":
        return TALK
    lines = statements(rng, steps, author)
    body = each_body(lines, author) if end == "each" else row_body(lines, end, author)
    code = "".join(f"    {line}\n" for line in body)
    return f"```c\n{INCLUDES}{kernels.signature(steps, end)}\n{{\n{code}}}\n```"
