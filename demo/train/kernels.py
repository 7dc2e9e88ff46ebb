"""A family of small problems: steps on each element, then what becomes of the elements.

    (("times z", ""), ("at most", "0.5")), "sum"   x: A times z, B at most 0.5; sum of each row

A kernel is such a pair. It has words (what a prompt says), a reference and a problem.yaml.
answers.py writes what programmers of different care answer.
"""

import random
import statistics

CONSTANTS = ("0.5", "2", "3")
LABELS = "ABCDEF"
# Step: its argument; what becomes of v, as an expression of the reference and in Python.
STEPS = {
    "times z": ("z", "v * z", lambda v, z, c: v * z),
    "plus z": ("z", "v + z", lambda v, z, c: v + z),
    "minus z": ("z", "v - z", lambda v, z, c: v - z),
    "times": ("C", "v * C", lambda v, z, c: v * c),
    "plus": ("C", "v + C", lambda v, z, c: v + c),
    "minus": ("C", "v - C", lambda v, z, c: v - c),
    "squared": ("", "v * v", lambda v, z, c: v * v),
    "negated": ("", "-v", lambda v, z, c: -v),
    "absolute": ("", "fabs(v)", lambda v, z, c: abs(v)),
    "relu": ("", "v > 0 ? v : 0", lambda v, z, c: max(v, 0)),
    "at least": ("C", "v > C ? v : C", lambda v, z, c: max(v, c)),
    "at most": ("C", "v < C ? v : C", lambda v, z, c: min(v, c)),
}
# What becomes of the elements: words, how t starts and takes one in; in Python.
ROWS = {
    "sum": ("sum of each row", "0", "t += v;", sum),
    "mean": ("mean of each row", "0", "t += v;", statistics.fmean),
    "largest": ("largest of each row", "-INFINITY", "t = v > t ? v : t;", max),
    "smallest": ("smallest of each row", "INFINITY", "t = v < t ? v : t;", min),
}


# --- which ones there are ------------------------------------------------------------------------


def value(steps, v, z):
    for name, constant in steps:
        v = STEPS[name][2](v, z, float(constant or 0))
    return v


def outputs(steps, end, rows):
    """Of rows of (x, z)."""
    found = [[value(steps, x, z) for x, z in row] for row in rows]
    if end == "each":
        return [v for row in found for v in row]
    return [ROWS[end][3](row) for row in found]


def worth_asking(steps, end, rows):
    """Results differ from one another, and from those without a step or two."""

    def differs(others):
        return sum(abs(a - b) > 0.01 for a, b in zip(right, others, strict=True)) > len(right) / 4

    right = outputs(steps, end, rows)
    count = len(steps)
    left_out = [{j, k} for k in range(count) for j in range(k + 1)]
    return differs([right[0]] * len(right)) and all(
        differs(outputs([step for k, step in enumerate(steps) if k not in out], end, rows))
        for out in left_out
    )


def draw_rows():
    rng = random.Random(1)
    return [[(rng.gauss(0, 1), rng.gauss(0, 1)) for _ in range(16)] for _ in range(12)]


TESTS = draw_rows()


def meaning(steps):
    """What they make of some elements: the same where they come to the same, in another order,
    say."""
    return tuple(round(v, 4) for v in outputs(steps, "each", TESTS))


def draw(rng, least, most):
    """A kernel of so many steps, none of them twice."""
    while True:
        names = rng.sample(sorted(STEPS), rng.randint(least, most))
        steps = tuple((n, rng.choice(CONSTANTS) if STEPS[n][0] == "C" else "") for n in names)
        end = rng.choice(("each", "each", *sorted(ROWS)))
        if worth_asking(steps, end, TESTS):
            return steps, end


# --- what a prompt says -----------------------------------------------------------------------


def has_z(steps):
    return any(STEPS[name][0] == "z" for name, _ in steps)


def literal(constant):
    return f"{constant}f" if "." in constant else constant


def labelled(steps):
    """A times z, B at most 0.5: one for each step."""
    return [
        f"{label} {name} {constant}".strip()
        for label, (name, constant) in zip(LABELS[: len(steps)], steps, strict=True)
    ]


def words(steps, end):
    text = "x: " + ", ".join(labelled(steps))
    return text if end == "each" else f"{text}; {ROWS[end][0]}"


def signature(steps, end):
    second = "const float *z, " if has_z(steps) else ""
    sizes = "size_t n" if end == "each" else "size_t rows, size_t cols"
    return f"void solution(const float *x, {second}float *y, {sizes})"


# --- the problem ---------------------------------------------------------------------------------


def reference(steps, end):
    lines = ["float v = x[i];"]
    for name, constant in steps:
        expression = STEPS[name][1].replace("C", literal(constant)).replace("z", "z[i]")
        lines.append(f"v = {expression};")
    head = f"#include <stddef.h>\n#include <tgmath.h>\n\n{signature(steps, end)}\n{{\n"
    if end == "each":
        body = "".join(f"        {line}\n" for line in [*lines, "y[i] = v;"])
        return head + f"    for (size_t i = 0; i < n; i++) {{\n{body}    }}\n}}\n"
    _, start, take, _ = ROWS[end]
    body = "".join(f"            {line}\n" for line in ["size_t i = r * cols + c;", *lines, take])
    return (
        head + f"    for (size_t r = 0; r < rows; r++) {{\n        float t = {start};\n"
        f"        for (size_t c = 0; c < cols; c++) {{\n{body}        }}\n"
        f"        y[r] = t{' / cols' if end == 'mean' else ''};\n    }}\n}}\n"
    )


SIZES = {
    "each": ("n", "n", "{n: 1}, {n: 17}, {n: 1000}", "n: [1, 3000]", "n: 100000"),
    "row": (
        "rows, cols",
        "rows*cols",
        "{rows: 1, cols: 1}, {rows: 50, cols: 1}, {rows: 3, cols: 17}, {rows: 20, cols: 60}",
        "rows: [1, 40], cols: [1, 90]",
        "rows: 100, cols: 1000",
    ),
}


def problem(name, steps, end):
    """problem.yaml."""
    shape, total, check, draws, time = SIZES["each" if end == "each" else "row"]
    arrays = ["x", "z"] if has_z(steps) else ["x"]
    out = "n" if end == "each" else "rows"
    lines = [
        f"name: {name}",
        f'summary: "{words(steps, end)}"',
        f"category: {'elementwise' if end == 'each' else 'reduction'}",
        f"signature: {signature(steps, end)}",
        "arguments:",
        *(f"  {a}: {{role: in, type: f32, shape: [{shape}], fill: normal}}" for a in arrays),
        f"  y: {{role: out, type: f32, shape: [{out}]}}",
        *(f"  {size}: {{role: size}}" for size in shape.split(", ")),
        "tolerance: {relative: 1.0e-5, scale: rms, absolute: 1.0e-6}",
        f"check: [{check}]",
        f"draw: {{{draws}}}",
        f"time: [{{{time}}}]",
        f"work: {{flops: {len(steps)}*{total}, bytes: {4 * len(arrays)}*{total} + 4*{out}}}",
    ]
    return "\n".join(lines) + "\n"
