"""What came out of the demonstration, as a table: each seed, then all of them.

Brackets of a seed are its report's: the bootstrap over problems, each with all of its answers. From
seed to seed everything differs but the recipe: problems, crowd, model, order. So their differences
are as many independent measurements, and those of all seeds are Student's t of them; where a
difference is a factor, of its logarithm.
"""

import math
import statistics

FIGURES = (  # title, its name and p in the report's JSON, how it is written, is it a factor
    ("right answers", "fast_p_samples", 0, "{:.1%}", False),
    ("right and as fast as the reference", "fast_p_samples", 1, "{:.1%}", False),
    ("speedup of a problem's best", "speedup_solved", None, "{:.2f}x", True),
)
# 97.5 % of Student's t is below it, with 1, 2, … degrees of freedom; the last does for more.
STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
SEEDS_LEAST = 3  # of which the bar is a question


def over_seeds(values, factor=False):
    """Mean and 95 % interval; of one value there is none."""
    if factor:
        return tuple(
            None if v is None else math.exp(v) for v in over_seeds([math.log(v) for v in values])
        )
    mean = statistics.fmean(values)
    if len(values) < 2:
        return mean, None, None
    quantile = STUDENT[min(len(values) - 2, len(STUDENT) - 1)]
    half = quantile * statistics.stdev(values) / math.sqrt(len(values))
    return mean, mean - half, mean + half


def row_of(figures, name, p):
    """(value, low, high); None for what is not known."""
    for row in figures:
        if row["name"] == name and (p is None or row.get("p") == p):
            return row["value"], row["low"], row["high"]
    return None, None, None


def written(triple, form):
    value, low, high = triple
    if value is None:
        return "-"
    text = form.format(value)
    return text if low is None else f"{text} [{form.format(low)}, {form.format(high)}]"


def columns(report, name, p):
    """Before, after, difference of one seed."""
    runs = [run["figures"] for run in report["runs"]]
    return [row_of(f, name, p) for f in (*runs, report["comparisons"][0]["differences"])]


def of_all(found, name, p, factor):
    """The same over seeds; None where one of them does not know it."""
    seeds = [[triple[0] for triple in columns(report, name, p)] for _, report, _ in found]
    if any(value is None for seed in seeds for value in seed):
        return None
    means = [over_seeds(values, factor) for values in zip(*seeds, strict=True)]
    return [(means[0][0], None, None), (means[1][0], None, None), means[2]]


def bar(found):
    """Whether right answers have improved beyond the interval over seeds, in a sentence."""
    what = "The bar is that right answers improve beyond the 95 % interval over seeds"
    title, name, p, form, factor = FIGURES[0]
    means = of_all(found, name, p, factor)
    if len(found) < SEEDS_LEAST or means is None:
        return f"{what}, of which there must be {SEEDS_LEAST}: not judged."
    low = means[2][1]
    return f"{what}: {'met' if low > 0 else 'NOT met'}, {title} {written(means[2], form)}."


def table(found):
    """Markdown. `found`: (seed, report, {part: seconds}) of each seed."""
    lines = ["| Seed | Figure | Before | After | Difference |", "|---|---|---|---|---|"]
    for seed, report, _ in found:
        for title, name, p, form, _ in FIGURES:
            cells = [written(triple, form) for triple in columns(report, name, p)]
            lines.append(f"| {seed} | {title} | {' | '.join(cells)} |")
    for title, name, p, form, factor in FIGURES:
        means = of_all(found, name, p, factor)
        if len(found) > 1 and means:
            cells = [written(triple, form) for triple in means]
            lines.append(f"| all {len(found)} | {title} | {' | '.join(cells)} |")
    lines += ["", bar(found), ""]
    parts = list(found[0][2])
    lines += [f"| Seed | {' | '.join(parts)} |", "|---" * (len(parts) + 1) + "|"]
    for seed, _, seconds in found:
        lines.append(f"| {seed} | {' | '.join(f'{seconds[part]:.0f} s' for part in parts)} |")
    return "\n".join(lines) + "\n"
