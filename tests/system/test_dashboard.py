"""The dashboard: its routes, and each of its views in Chromium."""

import json
from urllib.parse import quote

import browser
import dashboard_support
import pytest
import serving
import support
from dashboard_support import (
    HOSTILE,
    add_traces,
    page_of,
    trace,
    verdict,
    watching,
    write,
)

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
FILES = [
    "page.css",
    "app.js",
    "charts.js",
    "list.js",
    "runs.js",
    "traces.js",
    "trajectory.js",
]

with_browser = pytest.mark.skipif(
    not browser.PROGRAM, reason="chromium is not installed"
)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """runs/a, runs/b."""
    home = tmp_path_factory.mktemp("home")
    write(home / "runs" / "a", 23)
    write(home / "runs" / "b", 15, "gym.turns=7")
    (home / "runs" / "none").mkdir()
    return home


@pytest.fixture
def run(tmp_path):
    """A run of its own, without traces."""
    write(tmp_path / "runs" / "r", 6)
    (tmp_path / "runs" / "r" / "traces.jsonl").write_text("", encoding="utf-8")
    return tmp_path / "runs" / "r"


# --- the page, and what it takes to have it -----------------------------------------------------


def test_page_for_browsers_alone(warpgym, home):
    sets = ("--set", f"server.runs={home / 'runs'}", "--set", "server.token=secret")
    with serving.serving(warpgym, *sets, worker=False) as server:
        page = server.get("/", headers={"Accept": BROWSER})
        assert (
            page.status == 200
            and page.headers["Content-Type"] == "text/html; charset=utf-8"
        )
        assert page.headers["Content-Security-Policy"] == POLICY
        assert page.headers["X-Content-Type-Options"] == "nosniff"
        assert "<script>" not in page.text and "style=" not in page.text
        for accept in ("*/*", "application/json"):
            assert server.get("/", headers={"Accept": accept}).status == 401
        assert server.get("/").status == 401
        for name in FILES:
            file = server.get(f"/web/{name}")
            assert (
                file.status == 200 and file.headers["Content-Security-Policy"] == POLICY
            )
            assert file.headers["X-Content-Type-Options"] == "nosniff"
            known = {"If-None-Match": file.headers["ETag"]}
            again = server.get(f"/web/{name}", headers=known)
            assert (again.status, again.text) == (304, "")
        assert server.get("/web/nothing.js").status == 404
        for path in ("/v1/dashboard", "/v1/runs", "/v1/runs/a", "/v1/runs/a/metrics?names=x",
                     "/v1/runs/a/grid", "/v1/runs/a/traces", "/v1/runs/a/traces/0/0",
                     "/v1/runs/a/events", "/v1/stats"):  # fmt: skip
            assert server.get(path).status == 401, path
        server.token = "secret"
        assert server.get("/").headers["Content-Type"] == "application/json"
        facts = server.get("/v1/dashboard").json
        assert facts["queue"] is True and facts["folder"] == str(home / "runs")


def test_no_folder(warpgym):
    with serving.serving(warpgym, worker=False) as server:
        assert server.get("/v1/runs").json == {
            "folder": None,
            "runs": [],
            "left_out": 0,
        }
        refused = server.get("/v1/runs/a")
        assert refused.status == 404
        assert refused.json["error"]["message"] == "there is no run 'a'"


def test_folder_that_is_missing(warpgym, tmp_path):
    missing = tmp_path / "missing"
    with serving.serving(
        warpgym, "--set", f"server.runs={missing}", worker=False
    ) as server:
        refused = server.get("/v1/runs")
        assert (
            refused.status == 404 and str(missing) in refused.json["error"]["message"]
        )


def test_watch_what(warpgym, home):
    with watching(warpgym, cwd=home) as watch:  # ./runs
        assert [one["name"] for one in watch.get("/v1/runs").json["runs"]] == ["a", "b"]
        assert watch.get("/v1/dashboard").json["queue"] is False
        assert watch.get("/v1/stats").status == 404
    with watching(warpgym, "b", home / "runs" / "b", cwd=home) as watch:
        answer = watch.get("/v1/runs").json
        assert [one["name"] for one in answer["runs"]] == ["b", "b-2"]
        assert answer["folder"] is None
    with watching(
        warpgym, home / "runs", "--set", "server.token=x", token="x"
    ) as watch:
        assert len(watch.get("/v1/runs").json["runs"]) == 2
        watch.token = None
        assert watch.get("/v1/runs").status == 401
        assert watch.get("/", headers={"Accept": BROWSER}).status == 200


def test_watch_usage(warpgym, tmp_path):
    warpgym.refused("give one run, or --web", "runs", "watch", cwd=tmp_path)
    warpgym.refused("there is no folder ./runs", "runs", "watch", "--web", cwd=tmp_path)
    warpgym.refused(
        "there is no run nothing", "runs", "watch", "--web", "nothing", cwd=tmp_path
    )


# --- runs ----------------------------------------------------------------------------------------


def test_runs(warpgym, home):
    with watching(warpgym, cwd=home) as watch:
        a, b = watch.get("/v1/runs").json["runs"]
        assert (a["state"], a["step"], a["steps"], a["kind"]) == (
            "finished",
            23,
            23,
            "rl",
        )
        assert b["last"]["eval/correct_rate"] == 0.9
        run = watch.get("/v1/runs/b").json
        assert run["settings"] == {"gym.turns": "7"}
        assert [one["step"] for one in run["checkpoints"]] == [4, 8, 12]
        assert "optim/loss" in run["metrics"] and run["rows"] == 15


def test_metrics(warpgym, home):
    lines = [
        json.loads(line) for line in (home / "runs" / "a" / "metrics.jsonl").open()
    ]
    with watching(warpgym, cwd=home) as watch:
        answer = watch.get(
            "/v1/runs/a/metrics?names=reward/mean,nothing&points=100"
        ).json
        assert list(answer["metrics"]) == ["reward/mean"]
        points = answer["metrics"]["reward/mean"]
        assert points["mean"] == pytest.approx([line["reward/mean"] for line in lines])
        assert points["first"] == points["last"] == [line["step"] for line in lines]
        few = watch.get(
            "/v1/runs/a/metrics?names=reward/mean&points=4&from=3&to=12"
        ).json
        few = few["metrics"]["reward/mean"]
        assert few["count"] == [3, 3, 3, 1] and few["first"] == [3, 6, 9, 12]
        values = [line["reward/mean"] for line in lines[3:6]]
        assert few["mean"][0] == pytest.approx(sum(values) / 3)
        assert (few["least"][0], few["greatest"][0]) == pytest.approx(
            (values[0], values[2])
        )


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("metrics", "the query's 'names' must have 1 to 64 names"),
        ("metrics?names=", "the query's 'names' must have 1 to 64 names"),
        (
            "metrics?names=" + ",".join("x" * 65),
            "the query's 'names' must have 1 to 64 names",
        ),
        ("metrics?names=x&points=0", "'points' must be a whole number from 1 to 2000"),
        (
            "metrics?names=x&points=2001",
            "'points' must be a whole number from 1 to 2000",
        ),
        ("metrics?names=x&from=-1", "'from' must be a whole number"),
        ("metrics?nmaes=x", "names"),
        ("grid?columns=201", "'columns' must be a whole number from 1 to 200"),
        ("traces?limit=501", "'limit' must be a whole number from 1 to 500"),
        ("traces?status=fine", "the query's 'status' must be one of a verdict"),
        ("traces?step=x", "'step' must be a whole number"),
        ("traces/x/0", "step and rollout must be whole numbers"),
        ("traces/0/-1", "step and rollout must be whole numbers"),
    ],
)
def test_bad_queries(warpgym, home, path, why):
    with watching(warpgym, cwd=home) as watch:
        refused = watch.get(f"/v1/runs/a/{path}")
        assert refused.status == 400, refused
        assert why in refused.json["error"]["message"]
        assert not refused.json["error"]["message"].endswith(".")


def test_events(warpgym, run):
    with watching(warpgym, run.parent) as watch:
        connection = watch.connect(30)
        connection.request("GET", "/v1/runs/r/events")
        response = connection.getresponse()
        assert response.getheader("Content-Type") == "text/event-stream"

        def event():
            for line in response:
                if line.startswith(b"data: "):
                    return json.loads(line[6:])
            return None

        first = event()
        assert (first["name"], first["step"]) == ("r", 6)
        with (run / "metrics.jsonl").open("a") as file:
            file.write('{"step": 6, "reward/mean": 9}\n')
        assert event()["last"]["reward/mean"] == 9
        connection.close()


# --- trajectories --------------------------------------------------------------------------------


def test_traces(warpgym, run):
    traces = [
        trace(
            step,
            problem,
            rollout,
            turn,
            reward=turn / 2,
            status="passed" if turn else "wrong",
        )
        for step in range(10)
        for rollout, problem in enumerate(["relu", "leaky_relu", "softmax"])
        for turn in range(2)
    ]
    add_traces(run, [*traces, "nonsense", "[1]", '{"step": 3}'])
    with watching(warpgym, run.parent) as watch:
        get = lambda path: watch.get(f"/v1/runs/r/{path}").json  # noqa: E731
        answer = get("traces?limit=4")
        assert (
            answer["matched"] == 30 and answer["next"] == 4 and len(answer["rows"]) == 4
        )
        assert answer["index"]["broken"] == 3 and answer["index"]["turns"] == 60
        assert answer["rows"][1] == {
            "number": 1, "step": 0, "rollout": 1, "problem": "leaky_relu", "turns": 2,
            "status": "passed", "reward": 0.5, "speedup": 2.0,
        }  # fmt: skip
        assert get("traces?from=28&limit=4")["next"] is None
        assert (
            get("traces?problem=relu")["matched"] == 10
        )  # a problem of that very name
        assert get("traces?problem=ELU")["matched"] == 20
        assert get("traces?problem=softmax&step=4")["rows"][0]["step"] == 4
        assert get("traces?status=wrong")["matched"] == 0
        found = get("traces?text=I count to 1.&step=7".replace(" ", "%20"))
        assert [row["problem"] for row in found["rows"]] == [
            "relu",
            "leaky_relu",
            "softmax",
        ]
        one = get("traces/7/2")
        assert (one["number"], one["problem"], len(one["turns"])) == (23, "softmax", 2)
        assert one["turns"][1]["parts"]["thought"] == "I count to 1."
        assert "int turn = 1;" in one["turns"][1]["parts"]["code"]
        missing = watch.get("/v1/runs/r/traces/7/3")
        assert missing.status == 404
        assert missing.json["error"]["message"] == "r has no rollout 3 of step 7"
        grid = get("grid?columns=5")
        assert grid["problems"] == ["relu", "leaky_relu", "softmax"]
        assert grid["steps"] == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]
        assert grid["cells"][0] == [[column, 2, 2, 0.5] for column in range(5)]


def test_a_run_that_goes_on_and_back(warpgym, run):
    add_traces(run, [trace(step) for step in range(5)])
    with watching(warpgym, run.parent) as watch:
        get = lambda: watch.get("/v1/runs/r/traces").json  # noqa: E731
        first = get()
        add_traces(run, [trace(5)])
        with (run / "traces.jsonl").open("a") as file:
            file.write(json.dumps(trace(6))[:40])  # half a line
        grown = get()
        assert grown["matched"] == 6
        assert grown["index"]["generation"] == first["index"]["generation"]
        add_traces(run, [trace(step, problem="other") for step in range(9)], mode="w")
        anew = get()
        assert anew["matched"] == 9 and anew["rows"][0]["problem"] == "other"
        assert anew["index"]["generation"] > first["index"]["generation"]


# --- in a browser --------------------------------------------------------------------------------

TEXT = "document.querySelector('main').textContent"
PRESS = "document.body.dispatchEvent(new KeyboardEvent('keydown', {{key: {!r}, bubbles: true}}))"


@with_browser
def test_runs_in_chromium(warpgym, home):
    with (
        watching(warpgym, cwd=home) as watch,
        page_of(watch, "#/runs?run=a", "runs") as page,
    ):
        assert page.value("document.querySelectorAll('tbody tr').length") >= 2
        style = "getComputedStyle(document.querySelector('.card')).borderRadius"
        assert page.value(style) == "10px"
        titles = page.value(
            "[...document.querySelectorAll('figure h3')].map(x => x.textContent)"
        )
        assert titles[:2] == ["Reward", "Pass rate"] and "Loss" in titles
        if watch.get("/v1/dashboard").json["charts"]:
            page.until("document.querySelector('canvas').width > 100")
            assert page.value("Chart.version") == "3.9.1"
        # Another run is compared, and the link says so.
        page.value("document.querySelectorAll('tbody input')[1].click()")
        page.until(
            "document.querySelectorAll('figure:first-of-type .legend li').length === 2"
        )
        assert page.value("location.hash") == "#/runs?run=a&run=b"
        page.value("document.querySelector('figure summary').click()")
        page.until("!!document.querySelector('figure details table')")
        # Step 22 of run a, as metrics.jsonl has it.
        numbers = page.value("document.querySelector('figure details').textContent")
        assert "22" in numbers and "0.8892" in numbers


@with_browser
def test_live_in_chromium(warpgym, run):
    with watching(warpgym, run.parent) as watch, page_of(watch, "", "runs") as page:
        with (run / "metrics.jsonl").open("a") as file:
            file.write('{"step": 77, "reward/mean": 0.123}\n')
        page.until("document.querySelector('figure .legend b').textContent === '0.123'")


@with_browser
def test_token_in_chromium(warpgym, home):
    with (
        watching(warpgym, "--set", "server.token=right", cwd=home) as watch,
        browser.Browser() as page,
    ):
        page.open(f"{watch.url}/")
        fill = "document.getElementById('token-text').value = {!r};"
        fill += "document.querySelector('#token-form button').click()"
        page.until("document.getElementById('token').open")
        page.value(fill.format("wrong"))
        page.until("document.getElementById('token-why').textContent.startsWith('That token')")
        page.until("document.getElementById('token').open")
        page.value(fill.format("right"))
        page.until("document.documentElement.dataset.ready === 'runs'")
        assert page.value("sessionStorage.getItem('warpgym-token')") == "right"
        assert page.value("document.cookie") == ""


def run_of(directory, steps=6):
    """Problems with several turns."""
    write(directory, steps)
    statuses = ["wrong", "compile_error", "passed"]
    traces = [
        trace(step, problem, rollout, turn, reward=turn / 2, status=statuses[turn])
        for step in range(steps)
        for rollout, problem in enumerate(["relu", "softmax", "matmul"])
        for turn in range(3)
    ]
    add_traces(directory, traces, "w")


@pytest.fixture(scope="module")
def tried(tmp_path_factory):
    home = tmp_path_factory.mktemp("tried")
    run_of(home / "runs" / "r")
    return home / "runs"


@with_browser
def test_grid_in_chromium(warpgym, tried):
    with watching(warpgym, tried) as watch, page_of(watch, "#/grid/r", "grid") as page:
        cells = "[...document.querySelectorAll('tbody tr:first-child td')].map(x => x.textContent)"
        assert page.value(cells) == ["100"] * 6
        page.value(
            "const measure = document.getElementById('measure'); measure.value = 'reward';"
            "measure.dispatchEvent(new Event('change'))"
        )
        assert page.value(cells) == ["1"] * 6
        assert page.value("location.hash") == "#/grid/r?measure=reward"
        page.value("document.querySelectorAll('.cell a')[1].click()")
        page.until("document.documentElement.dataset.ready === 'traces'")
        page.until("document.querySelectorAll('.rows-all a').length === 1")
        assert "step 1, 0" in page.value(TEXT)


@with_browser
def test_long_list_in_chromium(warpgym, run):
    add_traces(run, [trace(n // 10, f"p{n % 7}", n % 10) for n in range(3000)])
    with (
        watching(warpgym, run.parent) as watch,
        page_of(watch, "#/traces/r", "traces") as page,
    ):
        rows = "document.querySelectorAll('.rows-all .row').length"
        page.until("!document.querySelector('.row.waiting')")
        assert 10 < page.value(rows) < 100
        assert "3 000 trajectories" in page.value(TEXT)
        page.value("document.querySelector('.rows-scroll').scrollTop = 1e9")
        page.until(f"{TEXT}.includes('step 299, 9')")
        assert page.value(rows) < 100
        # The keys go on from the row that has the focus.
        page.value("document.querySelector('.rows-scroll').scrollTop = 0")
        page.until(f"{TEXT}.includes('step 0, 0')")
        page.value(PRESS.format("j"))
        assert page.value("document.activeElement.textContent") == "step 0, 1"
        page.value(
            "const text = document.getElementById('text'); text.value = 'Write p3.';"
            "text.dispatchEvent(new Event('input'))"
        )
        page.until(f"{TEXT}.includes('found in')")
        page.until("!!document.querySelector('.rows-all a')")
        assert page.value("location.hash") == "#/traces/r?text=Write+p3."
        rows = "[...document.querySelectorAll('.rows-all .row')]"
        problems = f"{rows}.map(x => x.children[1].textContent)"
        page.until(f"{problems}.length > 10 && {problems}.every(x => x === 'p3')")


@with_browser
def test_trajectory_in_chromium(warpgym, tried):
    with (
        watching(warpgym, tried) as watch,
        page_of(watch, "#/trajectory/r/2/1", "trajectory") as page,
    ):
        assert page.value("document.querySelectorAll('section.turn').length") == 3
        closed = "[...document.querySelectorAll('details:not([open]) > summary')]"
        folded = page.value(f"{closed}.map(x => x.textContent)")
        assert "Reasoning: 13 characters" in folded
        diff = "[...document.querySelectorAll('.diff')].at(-1)"
        assert page.value(f"{diff}.querySelector('del').textContent") == (
            "removed: -     int turn = 1;\n"
        )
        assert page.value(f"{diff}.querySelector('ins').textContent") == (
            "added: +     int turn = 2;\n"
        )
        text = page.value(TEXT)
        for words in ("Stages of the judge: 125 ms", "softmax_kernel (own)", "1.8 to 2.2",
                      "correctness", "900 µs, 10 launches"):  # fmt: skip
            assert words in text, words
        page.value(PRESS.format("n"))
        page.until(
            "document.querySelector('h1').textContent === 'r: step 2, rollout 2'"
        )
        assert page.value("location.hash") == "#/trajectory/r/2/2"


@with_browser
def test_keys_in_chromium(warpgym, tried):
    with watching(warpgym, tried) as watch, page_of(watch, "", "runs") as page:
        page.value(PRESS.format("?"))
        assert page.value("document.getElementById('keys').open")
        assert "Trajectories" in page.value(
            "document.getElementById('key-list').textContent"
        )
        page.value("document.getElementById('keys-close').click()")
        page.value(PRESS.format("/"))
        assert page.value("document.activeElement.id") == "search"
        page.value("document.activeElement.blur()")
        page.value(PRESS.format("2"))
        page.until("document.documentElement.dataset.ready === 'grid'")
        page.value(PRESS.format("?"))
        page.value("document.getElementById('keys-on').click()")
        page.value("document.getElementById('keys-close').click()")
        page.value(PRESS.format("1"))
        page.settle()
        assert page.value("location.hash") == "#/grid/r"


@with_browser
def test_hostile_texts_in_chromium(warpgym, tmp_path):
    """In every place that a model, a problem's author or a run's name reaches."""
    name = HOSTILE.replace("/", "").replace("\x1b", "")
    directory = tmp_path / "runs" / name
    write(directory, 3)
    bad = [
        {"role": HOSTILE, "content": HOSTILE},
        {"role": "user", "content": "y" * (1 << 20)},
    ]
    code = f"```c\nvoid solution(void) {{ /* {HOSTILE} */ }}\n{'x' * (1 << 20)}\n```"
    finding = [{"code": HOSTILE[:30], "evidence": HOSTILE}]
    judged = {
        "error": {"class": HOSTILE, "message": HOSTILE},
        "integrity": {"violations": finding, "warnings": finding},
        "profile": {
            "kernels": [{"name": HOSTILE, "launches": 1, "time_us": 1.0, "own": True}]
        },
    }
    more = {
        "prompt": bad,
        "verdict": verdict("violation", **judged),
        "status": "violation",
    }
    traces = [
        trace(
            0,
            HOSTILE,
            0,
            turn,
            **(more | {"answer": f"<think>{HOSTILE}{turn}</think>{code}"}),
        )
        for turn in range(2)
    ]
    add_traces(directory, traces, "w")
    link = quote(name, safe="")
    with (
        watching(warpgym, directory.parent) as watch,
        page_of(watch, "", "runs") as page,
    ):
        assert "⟦U+202E⟧" in page.value(TEXT) and "\u202e" not in page.value(TEXT)
        for view in (f"grid/{link}", f"traces/{link}", f"trajectory/{link}/0/0"):
            page.value(f"location.hash = '#/{view}'")
            page.until(
                f"document.documentElement.dataset.ready === '{view.split('/')[0]}'"
            )
            page.until(f"{TEXT}.includes('<img src=x onerror=')")
            page.value(
                "document.querySelectorAll('details').forEach(one => one.open = true)"
            )
            page.settle()
            text = page.value("document.documentElement.textContent")
            assert "\u202e" not in text and "\x1b" not in text
            assert page.value("document.querySelectorAll('script').length") <= 2
        shown = page.value(TEXT)
        assert shown.count("</script></textarea>") >= 10
        page.value(
            "document.querySelectorAll('details').forEach(one => one.open = true)"
        )
        assert "Show all" in page.value(TEXT)


@with_browser
def test_service_in_chromium(warpgym):
    with serving.serving(warpgym) as server:
        for number in range(5):
            source = f"speedup={number + 1} status=passed {number} {HOSTILE}"
            assert server.evaluate(source).json["state"] == "done"
        server.evaluate("status=wrong speedup=99")
        support.wait_until(
            lambda: server.get("/v1/leaderboard").json["matched"], "a problem"
        )
        leaders = server.get("/v1/leaderboard/softmax").json
        assert [one["speedup"] for one in leaders["candidates"]] == [5, 4, 3, 2, 1]
        assert (leaders["evaluations"], leaders["passed"]) == (6, 5)
        assert server.get("/v1/leaderboard/nothing").status == 404
        assert server.get("/v1/leaderboard?limit=501").status == 400
        with page_of(server, "#/leaderboard", "leaderboard") as page:
            page.until("!!document.querySelector('.rows-all a')")
            page.value("document.querySelector('.rows-all a').click()")
            page.until(f"{TEXT}.includes('Fastest candidates')")
            page.until("document.querySelectorAll('tbody tr').length === 5")
            page.until(f"{TEXT}.includes('⟦U+202E⟧')")
            # A faster one arrives, and is seen.
            server.evaluate("speedup=50")
            page.until("document.querySelector('tbody td').textContent === '50×'")
            page.value("document.querySelector('tbody a').click()")
            page.until("document.documentElement.dataset.ready === 'evaluation'")
            assert "speedup=50" in page.value(TEXT)
            dashboard_support.go(page, server, "#/queue", "queue")
            assert "fake" in page.value(TEXT) and "passed" in page.value(TEXT)
            dashboard_support.go(page, server, "#/violations", "violations")
            assert "No violation was found." in page.value(TEXT)
            server.evaluate("vector=decoy")
            page.until(f"{TEXT}.includes('H40: its answer is the same')")
            page.value("document.querySelector('article a').click()")
            page.until("document.documentElement.dataset.ready === 'evaluation'")
            assert "violation H40: its answer" in page.value(TEXT)


AXE = support.ROOT / "build" / "axe" / "axe_playwright_python" / "axe.min.js"
LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def violations_of(page):
    """What axe-core complains of."""
    options = json.dumps({"runOnly": {"type": "tag", "values": LEVELS}})
    return page.value(
        f"axe.run(document, {options}).then(all => all.violations.map("
        "one => one.id + ': ' + one.nodes.map(node => node.html.slice(0, 200)).join(' | ')))"
    )


@with_browser
@pytest.mark.skipif(not AXE.exists(), reason="axe-core is missing: ./setup.sh browser")
@pytest.mark.parametrize(("dark", "width"), [(False, 1280), (True, 400)])
def test_axe(warpgym, tried, dark, width):
    """Every view, in both colours, at the width of a desk and of a phone."""
    found, wider = {}, {}
    views = ["runs", "grid/r", "traces/r", "trajectory/r/1/1", "leaderboard"]
    views += ["leaderboard/softmax", "queue", "violations"]
    with serving.serving(warpgym, "--set", f"server.runs={tried}") as server:
        server.evaluate("speedup=2")
        support.wait_until(
            lambda: server.get("/v1/leaderboard").json["matched"], "a problem"
        )
        with page_of(server, "", "runs", dark=dark, width=width) as page:
            for view in views:
                dashboard_support.go(page, server, f"#/{view}", view.split("/")[0])
                page.value(
                    "document.querySelectorAll('details').forEach(one => one.open = true)"
                )
                page.until("!document.querySelector('.row.waiting')")
                page.settle()
                wide = page.value("document.documentElement.scrollWidth")
                wider |= {view: wide} if wide > width else {}
                page.value(AXE.read_text(encoding="utf-8") + ";0")
                found |= {view: violations_of(page)}
            page.value("document.getElementById('help').click()")
            found |= {"keys": violations_of(page)}
    assert {view: all for view, all in found.items() if all} == {}
    assert wider == {}
