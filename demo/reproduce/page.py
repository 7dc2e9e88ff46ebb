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
TITLES = {  # of the figures in result.json: shares
    "first_right": "right, first answer",
    "first_fast": "right and 1.2x, first answer",
    "any_right": "right, any of 3",
    "any_fast": "right and 1.2x, any of 3",
    "own": "own kernels' share of right answers' time",
    "own_fast": "right, 1.2x and mostly own",
}
SHOWN = {  # of each world
    "native": ("first_right", "first_fast", "any_right", "any_fast"),
    "modules": ("first_right", "first_fast", "own", "own_fast"),
}
MOSTLY = 0.5
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


def own_share(turn):
    """Of a turn's time, by the verdict's profile; what is unknown is none."""
    return ((turn.get("verdict") or {}).get("profile") or {}).get("own_time_fraction") or 0


def mean(values):
    values = list(values)
    return sum(values) / len(values) if values else 0


def measure(folder, turns):
    """Of one run: the figures of its held-out trajectories, and the curves of its training."""
    episodes = lines_of(folder / "held-out" / "trajectories.jsonl")
    played = [episode["turns"][:turns] for episode in episodes if episode["turns"]]
    first = [turns[0] for turns in played]
    metrics = lines_of(folder / "rl" / "metrics.jsonl")
    return {
        "episodes": len(played),
        "first_right": mean(map(is_right, first)),
        "first_fast": mean(map(is_fast, first)),
        "any_right": mean(any(map(is_right, turns)) for turns in played),
        "any_fast": mean(any(map(is_fast, turns)) for turns in played),
        "own": mean(own_share(turn) for turn in first if is_right(turn)),
        "own_fast": mean(is_fast(turn) and own_share(turn) >= MOSTLY for turn in first),
        "mismatch": [line.get("mismatch/mismatch_k3_kl") for line in metrics],
        "rejected": [line.get("mismatch/rollout_rs_seq_masked_fraction") for line in metrics],
        "curves": {name: [[m["step"], m.get(name)] for m in metrics] for _, name, *_ in PANELS},
    }


def sentence(result):
    shown = SHOWN[VARIANTS[result["variant"]].world]
    return ", ".join(f"{TITLES[name]} {result[name]:.1%}" for name in shown)


def collect(out):
    """{variant: {seed: result}} of all that has ended."""
    found = {}
    for path in sorted(out.glob("seed-*/*/*/result.json")):
        result = json.loads(path.read_text(encoding="utf-8"))
        found.setdefault(result["variant"], {})[result["seed"]] = result
    return found


def variants_table(found, world):
    shown = SHOWN[world]
    yield "| Variant | Seeds | " + " | ".join(TITLES[name] for name in shown) + " |"
    yield "|---" * (len(shown) + 2) + "|"
    for variant, is_of in VARIANTS.items():
        seeds = found.get(variant, {})
        if is_of.world != world or not seeds:
            continue
        cells = [
            results.written(results.over_seeds([one[name] for one in seeds.values()]), "{:.1%}")
            for name in shown
        ]
        yield f"| {variant} | {len(seeds)} | {' | '.join(cells)} |"


def verdict(low, high):
    if low is None:
        return "one seed says nothing"
    return "shows" if low > 0 else "the opposite shows" if high < 0 else "does not show"


def claims_table(found):
    yield "| Claim | Figure | Seeds | Difference in points | |"
    yield "|---|---|---|---|---|"
    for claim, better, other, figures in CLAIMS:
        seeds = sorted(found.get(better, {}).keys() & found.get(other, {}).keys())
        for name in figures if seeds else ():
            differences = [found[better][seed][name] - found[other][seed][name] for seed in seeds]
            triple = results.over_seeds([100 * one for one in differences])
            cells = [claim, TITLES[name], str(len(seeds)), results.written(triple, "{:+.1f}")]
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
    trained = [name for name, variant in VARIANTS.items() if variant.settings and name in found]
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
    tables = [[*variants_table(found, world), ""] for world in SHOWN]
    text = "\n".join([line for table in tables for line in table] + [*claims_table(found)]) + "\n"
    (out / "page.md").write_text(text, encoding="utf-8")
    (out / "curves.svg").write_text(figure(found), encoding="utf-8")
    print(text, end="")
