"""The run's curves as an SVG: share of right answers and their speedup over the steps, a line for
each seed, and circles where the held-out problems were played."""

import math

COLOURS = ("#1f6feb", "#bf5700", "#2e7d32", "#8e24aa", "#616161")
WIDTH, HEIGHT, LEFT, TOP, GAP = 300, 200, 46, 40, 70
# Title, metric of a step, metric of the held-out problems, least and greatest, marks.
PANELS = (
    ("right answers", "kernel/correct_rate", "eval/correct_rate", (0, 1), (0, 0.25, 0.5, 0.75, 1)),
    (
        "speedup of right answers",
        "kernel/mean_speedup",
        "eval/geometric_mean_speedup",
        (0, 8),
        (0, 2, 4, 6, 8),
    ),
)


def mean_of_five(values):
    """Each with its neighbours: a step's problems are few."""
    return [
        sum(values[max(k - 2, 0) : k + 3]) / len(values[max(k - 2, 0) : k + 3])
        for k in range(len(values))
    ]


def known(lines, name):
    found = [(line["step"], line.get(name)) for line in lines]
    return [(step, value) for step, value in found if value is not None and math.isfinite(value)]


class Panel:
    def __init__(self, left, steps, bounds):
        self.left, self.steps, self.bounds = left, max(steps, 1), bounds

    def x(self, step):
        return self.left + WIDTH * step / self.steps

    def y(self, value):
        low, high = self.bounds
        return TOP + HEIGHT * (1 - (min(max(value, low), high) - low) / (high - low))

    def axes(self, title, marks):
        yield f'<text x="{self.left}" y="24" font-size="14" fill="#222222">{title}</text>'
        for mark in marks:
            y = self.y(mark)
            yield f'<line x1="{self.left}" x2="{self.left + WIDTH}" y1="{y:.1f}" y2="{y:.1f}" '
            yield f'stroke="#dddddd"/><text x="{self.left - 6}" y="{y + 4:.1f}" '
            yield f'text-anchor="end" fill="#444444">{mark:g}</text>'
        for k in range(4):
            step = round(self.steps * k / 3)
            yield f'<text x="{self.x(step):.1f}" y="{TOP + HEIGHT + 18}" text-anchor="middle" '
            yield f'fill="#444444">{step}</text>'

    def curve(self, lines, names, colour):
        points = known(lines, names[0])
        smooth = mean_of_five([value for _, value in points])
        path = " ".join(
            f"{self.x(step):.1f},{self.y(value):.1f}"
            for (step, _), value in zip(points, smooth, strict=True)
        )
        yield f'<polyline fill="none" stroke="{colour}" stroke-width="1.5" points="{path}"/>'
        for step, value in known(lines, names[1]):
            yield f'<circle cx="{self.x(step):.1f}" cy="{self.y(value):.1f}" r="4" fill="#ffffff" '
            yield f'stroke="{colour}" stroke-width="2"/>'


def figure(runs):
    """`runs`: (seed, lines of metrics.jsonl)."""
    across = LEFT + len(PANELS) * (WIDTH + GAP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {across} {TOP + HEIGHT + 50}" '
        'font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="#ffffff"/>',
    ]
    for place, (title, step_name, held_out, bounds, marks) in enumerate(PANELS):
        most = max((line["step"] for _, lines in runs for line in lines), default=1)
        panel = Panel(LEFT + place * (WIDTH + GAP), most, bounds)
        parts += panel.axes(title, marks)
        for k, (_, lines) in enumerate(runs):
            parts += panel.curve(lines, (step_name, held_out), COLOURS[k % len(COLOURS)])
    for k, (seed, _) in enumerate(runs):
        parts.append(
            f'<text x="{LEFT + 80 * k}" y="{TOP + HEIGHT + 42}" '
            f'fill="{COLOURS[k % len(COLOURS)]}">seed {seed}</text>'
        )
    return "\n".join([*parts, "</svg>"]) + "\n"
