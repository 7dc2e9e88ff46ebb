"""The dashboard: its routes, and each of its views in Chromium."""

import json

import browser
import pytest
import serving
from dashboard_support import add_traces, page_of, trace, watching, write

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
        for token in ("wrong", "right"):
            page.until("document.getElementById('token').open")
            page.value(fill.format(token))
            page.until("!document.getElementById('token').open")
        page.until("document.documentElement.dataset.ready === 'runs'")
        assert page.value("sessionStorage.getItem('warpgym-token')") == "right"
        assert page.value("document.cookie") == ""
