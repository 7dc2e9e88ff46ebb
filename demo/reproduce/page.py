"""What came out: one table of the variants, one of the claims, and the runs' curves.

A figure of a seed is a share of all answers, or episodes, of its held-out problems. Seeds differ in
everything but the recipe, so they are the independent measurements: an interval is Student's t over
them, of a difference over the differences of two variants of the same seed.
"""

import json

import results
from figure import COLOURS, HEIGHT, LEFT, TOP, WIDTH, Panel
from variants import CLAIMS, VARIANTS

GAP = 70
FIGURES = (  # name in result.json, title, form
    ("first_right", "right, first answer", "{:.1%}"),
    ("first_fast", "right and 1.2x, first answer", "{:.1%}"),
    ("any_right", "right, any of 3", "{:.1%}"),
    ("any_fast", "right and 1.2x, any of 3", "{:.1%}"),
)
FAST = 1.2
PANELS = (  # title, metric of a step, greatest value, marks
    ("reward of a turn", "reward/mean", 2.5, (0, 0.5, 1, 1.5, 2, 2.5)),
    ("right answers", "kernel/correct_rate", 1, (0, 0.25, 0.5, 0.75, 1)),
)


def lines_of(path):
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def is_right(turn):
    return turn["correct"] and not turn["excluded"]


def is_fast(turn):
    return is_right(turn) and turn["speedup"] >= FAST


def measure(folder, turns):
    """Of one run: FIGURES of its held-out trajectories, and the curves of its training."""
    episodes = lines_of(folder / "held-out" / "trajectories.jsonl")
    played = [episode["turns"][:turns] for episode in episodes]
    count = max(len(played), 1)
    metrics = lines_of(folder / "rl" / "metrics.jsonl")
    return {
        "episodes": len(played),
        "first_right": sum(is_right(turns[0]) for turns in played if turns) / count,
        "first_fast": sum(is_fast(turns[0]) for turns in played if turns) / count,
        "any_right": sum(any(map(is_right, turns)) for turns in played) / count,
        "any_fast": sum(any(map(is_fast, turns)) for turns in played) / count,
        "mismatch": [line.get("mismatch/mismatch_k3_kl") for line in metrics],
        "rejected": [line.get("mismatch/rollout_rs_seq_masked_fraction") for line in metrics],
        "curves": {name: [[m["step"], m.get(name)] for m in metrics] for _, name, *_ in PANELS},
    }


def sentence(result):
    return ", ".join(f"{title} {form.format(result[name])}" for name, title, form in FIGURES)


def collect(out):
    """{variant: {seed: result}} of all that has ended."""
    found = {}
    for path in sorted(out.glob("seed-*/*/result.json")):
        result = json.loads(path.read_text(encoding="utf-8"))
        found.setdefault(result["variant"], {})[result["seed"]] = result
    return found


def variants_table(found):
    yield "| Variant | Seeds | " + " | ".join(title for _, title, _ in FIGURES) + " |"
    yield "|---" * (len(FIGURES) + 2) + "|"
    for variant in VARIANTS:
        seeds = found.get(variant, {})
        if not seeds:
            continue
        cells = [
            results.written(results.over_seeds([one[name] for one in seeds.values()]), form)
            for name, _, form in FIGURES
        ]
        yield f"| {variant} | {len(seeds)} | {' | '.join(cells)} |"


def verdict(low, high):
    if low is None:
        return "one seed says nothing"
    return "shows" if low > 0 else "the opposite shows" if high < 0 else "does not show"


def claims_table(found):
    yield "| Claim | Figure | Seeds | Difference in points | |"
    yield "|---|---|---|---|---|"
    for claim, better, other, turns in CLAIMS:
        seeds = sorted(found.get(better, {}).keys() & found.get(other, {}).keys())
        for name, title, _ in FIGURES:
            if not seeds or name.startswith("first") != (turns == 1):
                continue
            differences = [found[better][seed][name] - found[other][seed][name] for seed in seeds]
            triple = results.over_seeds([100 * one for one in differences])
            cells = [claim, title, str(len(seeds)), results.written(triple, "{:+.1f}")]
            yield f"| {' | '.join(cells)} | {verdict(*triple[1:])} |"


def mean_curve(seeds, name):
    """Means over seeds, as lines of metrics.jsonl."""
    steps = {}
    for result in seeds.values():
        for step, value in result["curves"][name]:
            if value is not None:
                steps.setdefault(step, []).append(value)
    return [{"step": step, name: sum(v) / len(v)} for step, v in sorted(steps.items())]


def figure(found):
    trained = [variant for variant, settings in VARIANTS.items() if settings and variant in found]
    across, down = LEFT + len(PANELS) * (WIDTH + GAP), TOP + HEIGHT + 70
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {across} {down}" '
        'font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="#ffffff"/>',
    ]
    for place, (title, name, most, marks) in enumerate(PANELS):
        curves = [mean_curve(found[variant], name) for variant in trained]
        last = max((line["step"] for lines in curves for line in lines), default=1)
        panel = Panel(LEFT + place * (WIDTH + GAP), last, (0, most))
        parts += panel.axes(title, marks)
        for k, lines in enumerate(curves):
            parts += panel.curve(lines, (name, ""), COLOURS[k % len(COLOURS)])
    for k, variant in enumerate(trained):
        x, y = LEFT + 120 * (k % 5), TOP + HEIGHT + 42 + 18 * (k // 5)
        parts.append(f'<text x="{x}" y="{y}" fill="{COLOURS[k % len(COLOURS)]}">{variant}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def write(out):
    """The tables and the curves of all runs that have ended, as files; prints the tables."""
    found = collect(out)
    text = "\n".join([*variants_table(found), "", *claims_table(found)]) + "\n"
    (out / "page.md").write_text(text, encoding="utf-8")
    (out / "curves.svg").write_text(figure(found), encoding="utf-8")
    print(text, end="")
