"""The page of `warpgym runs report`, read back."""

from html.parser import HTMLParser

import pytest

SHOWN = {
    "reward/mean", "kernel/correct_rate", "eval/correct_rate", "eval/fast_1", "eval/fast_2",
    "kernel/mean_speedup", "optim/loss", "policy/entropy", "mismatch/mismatch_kl", "lag/max",
    "time/rollout", "optim/lr",
}  # fmt: skip


class Page(HTMLParser):
    """Its parts by id, and the table of each chart: {title: [[cell, …], …]}."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.charts, self.text = set(), {}, ""
        self.title, self.inside = None, []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.inside.append(tag)
        self.ids |= {value for name, value in attributes if name == "id"}
        if tag == "tr" and self.title:
            self.charts[self.title].append([])
        if tag in ("td", "th") and self.title:
            self.charts[self.title][-1].append("")

    def handle_endtag(self, tag):
        while self.inside and self.inside.pop() != tag:
            pass
        if tag == "figure":
            self.title = None

    def handle_data(self, data):
        if "h3" in self.inside and "figcaption" in self.inside:
            self.title = data
            self.charts.setdefault(data, [])
        elif self.title and self.inside[-1] in ("td", "th"):
            self.charts[self.title][-1][-1] += data
        self.text += data


def assert_curves(page, lines):
    """What the page says of each step is what metrics.jsonl says."""
    shown = set()
    curves = [table for table in page.charts.values() if table and table[0][0][:4] == "step"]
    for head, *rows in curves:
        for name, column in zip(head[1:], range(1, len(head)), strict=True):
            logged = {line["step"]: line[name] for line in lines if line.get(name) is not None}
            read = {int(row[0]): float(row[column]) for row in rows if row[column] != "–"}
            assert read == pytest.approx(logged, rel=1e-5, abs=1e-12), name
            shown.add(name)
    return shown
