"""`warpgym report`: its figures against a plain recomputation, its page, and what it refuses."""

import base64
import copy
import hashlib
import html.parser
import itertools
import json
import math
import re

import browser
import pytest
import trajectories
from support import INFRASTRUCTURE, USAGE
from verdicts import whole

HOSTILE = "</script><img src=x onerror=\"document.body.dataset.owned=1\"><!--<script>{{title}}"
THRESHOLDS = (0.5, 0.8, 1, 1.5, 2)


@pytest.fixture(scope="module")
def base():
    return trajectories.episodes(problems=24, samples=4, turns=3, lost=0.05)


def save(folder, name, items):
    (folder / name).mkdir()
    trajectories.write(folder / name / "trajectories.jsonl", items)
    return name


def report(warpgym, *arguments):
    run = warpgym.ok("report", "--json", *arguments)
    return json.loads(run.out)


def figure(owner, name, p=None, k=None, judged=False):
    (found,) = [
        one
        for one in owner["figures" if "figures" in owner else "differences"]
        if one["name"] == name
        and (p is None or one.get("p") == p)
        and (k is None or one.get("k") == k)
        and one.get("judged", False) == judged
    ]
    return found


# --- a plain recomputation ------------------------------------------------------------------------


def usable(episode):
    return [turn for turn in episode["turns"] if not turn["excluded"]]


def best(episode, turns=None):
    speedups = [
        turn["speedup"]
        for turn in episode["turns"][:turns]
        if turn["correct"] and not turn["excluded"]
    ]
    return max(speedups, default=-1)


def is_faster(speedup, p):
    return speedup > p if p else speedup >= 0


def by_problem(episodes):
    found = {}
    for episode in episodes:
        found.setdefault(episode["problem"], []).append(episode)
    return [found[name] for name in sorted(found, key=natural)]


def natural(name):
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


class Draws:
    """The generator of the intervals, as docs/guide/report.md has it."""

    def __init__(self, seed=20260801):
        self.state = seed

    def below(self, n):
        mask = (1 << 64) - 1
        self.state = (self.state + 0x9E3779B97F4A7C15) & mask
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        return ((z ^ (z >> 31)) * n) >> 64


def interval(count, statistic, rounds=2000):
    """Percentiles of what a statistic of the problems' numbers comes to."""
    draws, values = Draws(), []
    for _ in range(rounds):
        value = statistic([draws.below(count) for _ in range(count)])
        if value is not None:
            values.append(value)
    values.sort()

    def quantile(part):
        place = part * (len(values) - 1)
        below = int(place)
        above = min(below + 1, len(values) - 1)
        return values[below] + (place - below) * (values[above] - values[below])

    return quantile(0.025), quantile(0.975)


def mean(values):
    return sum(values) / len(values)


def test_figures(warpgym, base):
    run = report(warpgym, save(warpgym.folder, "base", base), "--k", "1,2,4")["runs"][0]
    problems = by_problem(base)
    for p in (0, *THRESHOLDS):
        solved = [any(is_faster(best(one), p) for one in samples) for samples in problems]
        assert figure(run, "fast_p_problems", p)["value"] == pytest.approx(mean(solved))
        reached = [is_faster(best(one), p) for one in base]
        assert figure(run, "fast_p_samples", p)["value"] == pytest.approx(mean(reached))
        judged = [is_faster(best(one), p) for one in base if usable(one)]
        assert figure(run, "fast_p_samples", p, judged=True)["value"] == pytest.approx(mean(judged))
    assert any(not usable(one) for one in base)
    for p in (0, 1):
        for k in (1, 2, 4):
            chances = []
            for samples in problems:
                n, c = len(samples), sum(is_faster(best(one), p) for one in samples)
                chances.append(1 - math.comb(n - c, k) / math.comb(n, k))
            assert figure(run, "pass_at_k", p, k)["value"] == pytest.approx(mean(chances))
    fastest = [max(best(one) for one in samples) for samples in problems]
    logs = [math.log(value) for value in fastest if value > 0]
    assert figure(run, "speedup_solved")["value"] == pytest.approx(math.exp(mean(logs)))
    logs = [math.log(max(value, 1)) for value in fastest]
    assert figure(run, "speedup_all")["value"] == pytest.approx(math.exp(mean(logs)))
    turns = [turn for one in base for turn in usable(one)]
    for name, value in {
        "return": mean([one["return"] for one in base if usable(one)]),
        "reward": mean([turn["reward"] for turn in turns]),
        "format_rate": mean([turn["format_ok"] for turn in turns]),
        "compile_rate": mean([turn["compiled"] for turn in turns]),
        "correct_rate": mean([turn["correct"] for turn in turns]),
        "violation_rate": mean([turn["status"] == "violation" for turn in turns]),
    }.items():
        assert figure(run, name)["value"] == pytest.approx(value), name


def test_turns(warpgym, base):
    run = report(warpgym, save(warpgym.folder, "base", base))["runs"][0]
    assert len(run["by_turn"]) == 3
    for number, entry in enumerate(run["by_turn"]):
        for p in (0, *THRESHOLDS):
            reached = [is_faster(best(one, number + 1), p) for one in base]
            assert figure(entry, "best_by_turn", p)["value"] == pytest.approx(mean(reached))
        mix = {}
        for one in base:
            ended = number >= len(one["turns"])
            status = "over" if ended else one["turns"][number]["status"]
            mix[status] = mix.get(status, 0) + 1
        assert entry["status"] == mix
    pairs = [pair for one in base for pair in itertools.pairwise(usable(one))]
    assert run["changes"]["fixed"] == sum(b["correct"] > a["correct"] for a, b in pairs)
    assert run["changes"]["broken"] == sum(a["correct"] > b["correct"] for a, b in pairs)


def test_intervals(warpgym, base):
    run = report(warpgym, save(warpgym.folder, "base", base))["runs"][0]
    problems = by_problem(base)
    solved = [any(is_faster(best(one), 1) for one in samples) for samples in problems]
    estimate = figure(run, "fast_p_problems", 1)
    low, high = interval(len(problems), lambda draws: mean([solved[i] for i in draws]))
    assert (estimate["low"], estimate["high"]) == (pytest.approx(low), pytest.approx(high))
    returns = [[one["return"] for one in samples if usable(one)] for samples in problems]
    estimate = figure(run, "return")
    low, high = interval(
        len(problems), lambda draws: mean([value for i in draws for value in returns[i]])
    )
    assert (estimate["low"], estimate["high"]) == (pytest.approx(low), pytest.approx(high))


# --- denominators ---------------------------------------------------------------------------------


def test_all_problems_count(warpgym, base):
    """16 of 40 problems were not tried: they count as not solved."""
    name = save(warpgym.folder, "base", base)
    (alone,) = report(warpgym, name)["runs"]
    (counted,) = report(warpgym, name, "--problems", 40)["runs"]
    for p in (0, 1):
        value = figure(alone, "fast_p_problems", p)["value"]
        assert figure(counted, "fast_p_problems", p)["value"] == pytest.approx(value * 24 / 40)
        value = figure(alone, "pass_at_k", p, 4)["value"]
        assert figure(counted, "pass_at_k", p, 4)["value"] == pytest.approx(value * 24 / 40)
    assert counted["problems"] == {"asked": 40, "tried": 24}
    assert counted["samples"]["missing"] == 16 * 4
    judged = figure(counted, "fast_p_problems", 0, judged=True)
    assert judged["under"] == 24
    names = warpgym.folder / "problems.txt"
    asked = sorted({one["problem"] for one in base})[:20]
    lines = [asked[0], "# not this one", f'{{"problem": "{asked[1]}"}}', *asked[2:], "other", ""]
    names.write_text("\n".join(lines))
    (named,) = report(warpgym, name, "--problems", names)["runs"]
    assert named["problems"] == {"asked": 21, "tried": 20}
    assert named["episodes"]["not_asked"] == 4 * 4


def test_missing_samples(warpgym, base):
    """A run that was stopped has fewer samples of some problems, which must not look better."""
    (whole,) = report(warpgym, save(warpgym.folder, "whole", base))["runs"]
    missing = list({one["problem"]: one for one in base if best(one) < 0}.values())
    count = len(missing)
    assert count > 3
    kept = [one for one in base if one not in missing]
    (part,) = report(warpgym, save(warpgym.folder, "part", kept))["runs"]
    assert part["samples"]["missing"] == count
    assert part["by_turn"][0]["status"]["missing"] == count
    for name in ("fast_p_samples", "fast_p_problems"):
        assert figure(part, name, 1)["value"] == figure(whole, name, 1)["value"]
    assert figure(part, "pass_at_k", 0, 4)["value"] == figure(whole, "pass_at_k", 0, 4)["value"]
    (more,) = report(warpgym, "part", "--samples", 8, "--k", 8)["runs"]
    assert more["samples"]["asked"] == 24 * 8
    assert figure(more, "pass_at_k", 0, 8)["value"] is not None
    assert figure(report(warpgym, "part", "--k", 8)["runs"][0], "pass_at_k", 0, 8)["value"] is None


def test_repeated_and_cut(warpgym, base):
    """A repeated line counts once, half a line at the end is left out; both are reported."""
    path = warpgym.folder / "trajectories.jsonl"
    trajectories.write(path, [*base, base[3], base[9]])
    text = path.read_text()
    path.write_text(text + text[:500])
    (run,) = report(warpgym, path)["runs"]
    counts = run["episodes"]
    assert (counts["read"], counts["counted"], counts["repeated"]) == (98, 96, 2)
    assert counts["last_line_cut"] is True
    shown = warpgym("report", path)
    assert "2 duplicate episodes count once" in shown.out
    assert "partial last line" in shown.out


def test_gameable_problems(warpgym, base):
    """They are counted and reported, and left out on request."""
    items = json.loads(json.dumps(base))
    gamed = {items[0]["problem"], items[-1]["problem"]}
    count = sum(episode["problem"] in gamed for episode in items)
    for episode in items:
        outcome = "gameable" if episode["problem"] in gamed else "sound"
        for turn in episode["turns"]:
            if turn["verdict"]:
                turn["verdict"]["problem_audit"] = {"outcome": outcome}
    path = save(warpgym.folder, "gamed", items)
    (run,) = report(warpgym, path)["runs"]
    (without,) = report(warpgym, "--sound", path)["runs"]
    assert run["episodes"]["gameable"] == without["episodes"]["gameable"] == count
    assert run["episodes"]["counted"] - without["episodes"]["counted"] == count
    assert run["problems"]["asked"] - without["problems"]["asked"] == len(gamed)
    shown = warpgym.ok("report", path).out
    assert f"{count} episodes are of problems that can be gamed" in shown
    (clean,) = report(warpgym, save(warpgym.folder, "clean", base))["runs"]
    assert clean["episodes"]["gameable"] == 0
    all_gamed = [episode for episode in items if episode["problem"] in gamed]
    warpgym.refused("can be gamed", "report", "--sound", save(warpgym.folder, "all", all_gamed))


def test_iterations_are_one_sample(warpgym, base):
    """Test-time scaling goes on with a sample: its turns follow those before."""
    later = copy.deepcopy(base[:8])
    for one in later:
        one["iteration"], one["episode"] = 1, one["episode"] + "-1"
    (run,) = report(warpgym, save(warpgym.folder, "scaled", base[:8] + later))["runs"]
    assert run["samples"]["found"] == 8
    assert len(run["by_turn"]) == 6
    again = copy.deepcopy(base[:8])
    for one in again:
        one["episode"] += "-2"
    (run,) = report(warpgym, save(warpgym.folder, "twice", base[:8] + again))["runs"]
    assert run["samples"]["found"] == 16
    assert len(run["by_turn"]) == 3


def test_groups(warpgym, base):
    name = save(warpgym.folder, "base", base)
    for by, key in (("level", "level"), ("category", "category"), ("model", "model")):
        (run,) = report(warpgym, name, "--by", by)["runs"]
        assert {one["name"] for one in run["groups"]} == {one[key] for one in base}
        for group in run["groups"]:
            members = [one for one in base if one[key] == group["name"]]
            estimate = figure(group, "fast_p_samples", 0)
            assert estimate["value"] == pytest.approx(mean([best(one) >= 0 for one in members]))
    (run,) = report(warpgym, name, "--by", "level", "--problems", 30)["runs"]
    groups = {one["name"]: one["problems"] for one in run["groups"]}
    assert groups["(not tried)"] == {"asked": 6, "tried": 0}
    assert groups["level1"] == {"asked": 8, "tried": 8}


# --- comparison -----------------------------------------------------------------------------------


def test_comparison(warpgym, base):
    after = trajectories.episodes(problems=24, samples=4, turns=3, skill=0.2, seed=5)
    after = [one for one in after if "/20_" not in one["problem"]]
    names = [save(warpgym.folder, "before", base), save(warpgym.folder, "after", after)]
    document = report(warpgym, *names)
    (comparison,) = document["comparisons"]
    assert (comparison["baseline"], comparison["run"]) == ("before", "after")
    assert comparison["problems"] == 23  # that both were asked for
    before = by_problem([one for one in base if "/20_" not in one["problem"]])
    pairs = [
        [mean([is_faster(best(one), 1) for one in samples]) for samples in both]
        for both in zip(before, by_problem(after), strict=True)
    ]
    difference = figure(comparison, "fast_p_samples", 1)
    assert difference["value"] == pytest.approx(mean([b - a for a, b in pairs]))
    low, high = interval(23, lambda draws: mean([pairs[i][1] - pairs[i][0] for i in draws]))
    assert (difference["low"], difference["high"]) == (pytest.approx(low), pytest.approx(high))
    assert low > 0
    ratios = [
        math.log(y / x)
        for a, b in zip(before, by_problem(after), strict=True)
        for x, y in [(max(map(best, a)), max(map(best, b)))]
        if x > 0 and y > 0
    ]
    difference = figure(comparison, "speedup_solved")
    assert difference["value"] == pytest.approx(math.exp(mean(ratios)))
    shown = warpgym("report", *names)
    assert re.search(r"fast_1 +samples .*\+\d+\.\d +\+", shown.out), shown
    assert "over the 23 problems common to both" in shown.out


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "report: name at least one run"),
        (["nowhere"], "nowhere: no such file or directory"),
        (["empty"], "empty: holds neither trajectories.jsonl nor verdicts.jsonl"),
        (["none.jsonl"], "none.jsonl: holds no episode"),
        (["cut.jsonl"], "cut.jsonl: holds no episode but a part of one"),
        (["bad.jsonl"], "bad.jsonl:2: turns[0]: 'reward' must be a number, not a string"),
        (["verdicts.jsonl"], "verdicts.jsonl:1: 'problem' must be a string, not an object"),
        (["good.jsonl", "--p", "1,fast"], "--p: '1,fast' is not a list of numbers like 1,2,4"),
        (["good.jsonl", "--p", "-1"], "--p: -1 is not a number from 0.001"),
        (["good.jsonl", "--k", "1.5"], "--k: 1.5 is not a whole number"),
        (["good.jsonl", "--by", "levle"], "--by"),
        (["good.jsonl", "--problems", "1"], "good.jsonl: holds 2 problems, more than the 1 asked"),
        (["good.jsonl", "--problems", "0"], "--problems: 0 is not a number from 1"),
        (["good.jsonl", "--problems", "nofile"], "--problems: nofile: no such file"),
        (["good.jsonl", "--problems", "other.txt"], "good.jsonl: no episode is of a problem"),
        (["good.jsonl"] * 9, "9 runs; a report takes 1 to 8"),
    ],
)
def test_refused(warpgym, arguments, complaint):
    folder = warpgym.folder
    (folder / "empty").mkdir()
    good = trajectories.episodes(problems=2, samples=1, turns=1)
    trajectories.write(folder / "good.jsonl", good)
    (folder / "none.jsonl").write_text("\n\n")
    (folder / "cut.jsonl").write_text('{"problem": "re')
    bad = copy.deepcopy(good)
    bad[1]["turns"][0]["reward"] = "high"
    trajectories.write(folder / "bad.jsonl", bad)
    (folder / "verdicts.jsonl").write_text('{"schema": 1, "problem": {"id": "relu"}}\n')
    (folder / "other.txt").write_text("another\n")
    run = warpgym("report", *arguments, expect=USAGE)
    assert run.complaint.startswith(complaint), run


def test_page_that_cannot_be_written(warpgym):
    trajectories.write(warpgym.folder / "a.jsonl", trajectories.episodes(1, 1, 1))
    run = warpgym("report", "a.jsonl", "--html", "nofolder/page.html", expect=INFRASTRUCTURE)
    assert run.complaint.startswith("nofolder/page.html: cannot create"), run


# --- the page -------------------------------------------------------------------------------------


def hostile(count=3):
    """Every untrusted text holds the end of a script, and more."""
    items = trajectories.episodes(problems=count, samples=2, turns=2)
    for number, one in enumerate(items):
        one["problem"] = f"{one['problem']}{HOSTILE}"
        for key in ("model", "language", "style", "level", "category", "end", "episode"):
            one[key] = f"{one[key]}{HOSTILE}"
        for turn in one["turns"]:
            for key in ("answer", "thought", "code", "feedback", "status"):
                turn[key] = HOSTILE + turn[key] + "\u202e\u0007" * (key != "status")
            error = {"class": HOSTILE, "message": HOSTILE, "excerpt": HOSTILE}
            turn["verdict"] = whole({"error": error, "device": HOSTILE})
            turn["usage"] = {"prompt_tokens": HOSTILE, "completion_tokens": 3}
        one["episode"] += str(number)
    return items


class Page(html.parser.HTMLParser):
    """Elements, their attributes, and whether they close in their order."""

    EMPTY = {"meta", "input", "rect", "line", "path", "circle", "link", "br", "img"}

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.blocks, self.errors = [], [], {}, []
        self.texts = {"script": [], "style": []}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in self.EMPTY:
            self.open.append((tag, dict(attrs)))

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if not self.open or self.open[-1][0] != tag:
            self.errors.append(f"</{tag}> at {self.getpos()}, open: {self.open[-3:]}")
        else:
            self.open.pop()

    def handle_data(self, data):
        tag, attributes = self.open[-1] if self.open else ("", {})
        if tag == "script" and attributes.get("type") == "application/json":
            self.blocks[attributes["id"]] = json.loads(data)
        elif tag in self.texts:
            self.texts[tag].append(data)


def page_of(warpgym, *arguments):
    warpgym.ok("report", "--html", "page.html", *arguments)
    return (warpgym.folder / "page.html").read_text()


def check_sound(page):
    assert page.errors == []
    assert page.open == []
    tags = {tag for tag, _ in page.elements}
    assert tags.isdisjoint({"img", "iframe", "object", "embed", "link", "form", "base", "audio"})
    for tag, attributes in page.elements:
        for name, value in attributes.items():
            assert not name.startswith("on"), (tag, attributes)
            assert name not in ("src", "style", "xlink:href", "action", "srcset"), (tag, attributes)
            if name == "href":
                assert value == "#problems"
    identities = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(identities) == len(set(identities))
    for tag, attributes in page.elements:
        if tag == "svg" and attributes.get("role") == "img":
            for name in attributes["aria-labelledby"].split():
                assert name in identities


def test_page(warpgym, base):
    text = page_of(warpgym, save(warpgym.folder, "base", base), "--by", "level")
    page = Page(text)
    check_sound(page)
    assert "http://" not in text.replace("http://www.w3.org", "")
    assert "https://" not in text
    assert "{{" not in text.partition("application/json")[0].replace("${{", "")
    assert len(page.blocks) == len(base)
    order = {one["episode"]: one for one in base}
    for block in page.blocks.values():
        one = order[block["episode"]]
        assert [turn["code"] for turn in block["turns"]] == [turn["code"] for turn in one["turns"]]
        assert [turn["status"] for turn in block["turns"]] == [
            turn["status"] for turn in one["turns"]
        ]
    rows = [attributes for tag, attributes in page.elements if "data-episodes" in attributes]
    assert len(rows) == 24
    named = {f"e{name}" for row in rows for name in row["data-episodes"].split()}
    assert named == set(page.blocks)
    again = page_of(warpgym, "base", "--by", "level")
    assert again == text  # nothing of it hangs on the hour


def test_policy(warpgym, base):
    """The page admits its own style and script by their digests, and nothing else."""
    page = Page(page_of(warpgym, save(warpgym.folder, "base", base[:8])))
    (policy,) = [
        attributes["content"]
        for _, attributes in page.elements
        if attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    for kind in ("script", "style"):
        text = "".join(page.texts[kind]).encode()
        digest = base64.b64encode(hashlib.sha256(text).digest()).decode()
        assert rules[f"{kind}-src"] == f"'sha256-{digest}'"


def test_hostile_texts(warpgym):
    text = page_of(warpgym, save(warpgym.folder, f"run<b>{chr(38)}amp", hostile()), "--by", "model")
    page = Page(text)
    check_sound(page)
    assert len(page.blocks) == 6
    for block in page.blocks.values():
        assert block["turns"][0]["code"].startswith(HOSTILE)
        assert block["turns"][0]["facts"]["error"]["message"] == HOSTILE
        assert block["turns"][0]["status"] == "unknown"  # it becomes a class of the style sheet
    shown = warpgym("report", f"run<b>{chr(38)}amp")
    assert "\x07" not in shown.out


def test_large_texts_are_cut(warpgym):
    items = trajectories.episodes(problems=1, samples=1, turns=1)
    items[0]["turns"][0]["code"] = "é" * 50_000
    page = Page(page_of(warpgym, save(warpgym.folder, "large", items)))
    (block,) = page.blocks.values()
    code = block["turns"][0]["code"]
    assert code.startswith("é" * 32_000)
    assert code.endswith("more bytes are in the trajectory")
    assert len(code.encode()) < 66_000


# --- in a browser ---------------------------------------------------------------------------------

with_browser = pytest.mark.skipif(not browser.PROGRAM, reason="chromium is not installed")


def check_quiet(page, path):
    assert page.complaints == []
    assert {address.partition("#")[0] for address in page.requests} == {path.as_uri()}


@with_browser
def test_page_in_chromium(warpgym, base):
    page_of(warpgym, save(warpgym.folder, "base", base))
    path = warpgym.folder / "page.html"
    with browser.Browser() as page:
        page.open(path.as_uri())
        rows = "document.querySelectorAll('table.problems > tbody > tr:not([hidden]):not(.detail)')"
        names = f"[...{rows}].map(row => row.cells[0].dataset.v)"
        assert page.value("document.documentElement.dataset.ready") == "24"
        assert page.value(f"{rows}.length") == 24
        # No colour or size is left to the browser: the style sheet was admitted.
        style = "getComputedStyle(document.querySelector('.card')).borderRadius"
        assert page.value(style) == "12px"

        page.value(
            "const byId = id => document.getElementById(id);"
            "const input = () => new Event('input');"
            "const set = (id, value) => Object.assign(byId(id), { value }).dispatchEvent(input())"
        )
        page.value("set('find', 'softmax')")
        found = page.value(names)
        assert found and all("softmax" in name for name in found)
        assert page.value("byId('count').textContent") == f"{len(found)} of 24"
        page.value("set('find', ''); set('show', 'fast')")
        fast = {one["problem"] for one in base if is_faster(best(one), 1)}
        assert set(page.value(names)) == fast
        page.value("set('show', '')")

        page.value("document.querySelectorAll('table.problems thead button')[4].click()")
        fastest = {}
        for one in base:
            fastest[one["problem"]] = max(fastest.get(one["problem"], -1), best(one))
        speedups = [fastest[name] for name in page.value(names)]
        assert speedups == sorted(speedups, reverse=True)

        page.value(f"{rows}[0].querySelector('button').click()")
        detail = "document.querySelector('tr.detail')"
        assert page.value(f"{detail}.querySelectorAll('.episode').length") == 4
        page.value(f"{detail}.querySelector('details.turn').open = true")
        page.until(f"{detail}.querySelector('.body') !== null")
        assert "Reward" in page.value(f"{detail}.querySelector('.body').textContent")
        page.value(f"{rows}[0].querySelector('button').click()")
        assert page.value(f"{detail} === null")
        check_quiet(page, path)


@with_browser
def test_hostile_texts_in_chromium(warpgym):
    items = hostile(1)
    page_of(warpgym, save(warpgym.folder, "hostile", items))
    path = warpgym.folder / "page.html"
    with browser.Browser(dark=True) as page:
        page.open(path.as_uri())
        page.value("document.querySelector('table.problems tbody button').click()")
        page.value("document.querySelectorAll('details').forEach(one => one.open = true)")
        page.until("document.querySelectorAll('.turn .body').length === 4")
        page.value("document.querySelectorAll('details').forEach(one => one.open = true)")
        page.settle()
        assert page.value("document.body.dataset.owned") is None
        assert page.value("document.images.length") == 0
        shown = page.value("document.querySelector('.turn .body').textContent")
        assert shown.count(HOSTILE) >= 6
        assert "\u202e" not in shown
        assert "⟨U+202E⟩" in shown
        # And were there a hole, the policy would still stand behind it.
        page.value(
            "document.body.append(Object.assign(document.createElement('div'), {id: 'hole'}));"
            "try { hole.innerHTML = '<img src=x onerror=1>' } catch (error) { hole.id = 'shut' }"
        )
        assert page.value("document.getElementById('shut') !== null")
        assert page.value("getComputedStyle(document.body).backgroundColor") == "rgb(14, 17, 22)"
        assert {address.partition("#")[0] for address in page.requests} == {path.as_uri()}


@with_browser
def test_a_thousand_episodes_in_chromium(warpgym):
    """Texts are inserted only on demand: the page has few elements for its size."""
    items = trajectories.episodes(problems=250, samples=4, turns=4)
    page_of(warpgym, save(warpgym.folder, "many", items))
    path = warpgym.folder / "page.html"
    name = items[400]["problem"]
    with browser.Browser() as page:
        page.open(f"{path.as_uri()}#problem={name}")
        page.until("document.querySelector('.turn .body') !== null")
        assert page.value("document.querySelectorAll('.episode').length") == 4
        assert page.value("document.querySelectorAll('.turn .body').length") == 1
        assert page.value("document.documentElement.dataset.ready") == "250"
        assert page.value("document.querySelectorAll('*').length") < 30_000
        check_quiet(page, path)
