"""The demonstration of training: its problems are sound, its answers are what they say, and all of
it runs. What it learns is measured by hand (docs/measurements)."""

import json
import random
import subprocess
import sys

import pytest
from support import PASSED, ROOT, SOME_FAILED, WARPGYM, captured, read_lines

DEMO = ROOT / "demo" / "train"
sys.path.insert(0, str(DEMO))
import answers  # noqa: E402
import kernels  # noqa: E402
import results  # noqa: E402

STEPS = (("at most", "0.5"), ("absolute", ""), ("times z", ""))
PAIRS, LISTS = "pairs.jsonl", ("train.txt", "held_out.txt")
KERNELS = {end: (STEPS, end) for end in ("each", *kernels.ROWS)}


@pytest.fixture(scope="module")
def problems(tmp_path_factory):
    """A directory with a problem for each thing that may become of the elements."""
    folder = tmp_path_factory.mktemp("problems")
    for end, kernel in KERNELS.items():
        place = folder / end
        place.mkdir()
        (place / "problem.yaml").write_text(kernels.problem(end, *kernel), encoding="utf-8")
        (place / "reference.c").write_text(kernels.reference(*kernel), encoding="utf-8")
    return folder


def source(answer):
    return answer.removeprefix("```c\n").removesuffix("```")


def judged(warpgym, problems, candidates):
    """Statuses of (problem, answer)."""
    batch, out = warpgym.folder / "batch.jsonl", warpgym.folder / "verdicts.jsonl"
    lines = [{"problem": end, "source": source(answer)} for end, answer in candidates]
    batch.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    run = warpgym("eval", "--problems", problems, "--no-timing", "--out", out, "--quiet", batch)
    assert run.status in (PASSED, SOME_FAILED), run
    return [verdict["status"] for verdict in read_lines(out)]


def test_problems_cannot_be_gamed(warpgym, problems):
    run = warpgym.ok("problem", "check", *(problems / end for end in KERNELS))
    assert run.out.count(" sound ") == len(KERNELS)


def test_prompts_match_the_training_pairs(warpgym, problems):
    """The template's prompt is that of the pairs."""
    style = ["-s", "gym.style=kernel", "-s", f"prompts.path={DEMO / 'prompts'}"]
    for end, kernel in KERNELS.items():
        run = warpgym("prompt", end, "--problems", problems, *style, "--json")
        messages = json.loads(run.out)["messages"]
        assert messages == [{"role": "user", "content": kernels.words(*kernel)}]


def test_careful_answers_pass(warpgym, problems):
    candidates = []
    for end, kernel in KERNELS.items():
        for style in answers.STYLES["each" if end == "each" else "row"]:
            for calls in (False, True):
                author = answers.careful(style, calls)
                candidates.append((end, answers.answer(random.Random(1), *kernel, author)))
    assert set(judged(warpgym, problems, candidates)) == {"passed"}


def test_mistakes_and_beliefs_do_not(warpgym, problems):
    """Each of them is one, so that nothing wrong is ever paid."""
    candidates = []
    for end, kernel in KERNELS.items():
        author = answers.careful("fused" if end == "each" else "plain")
        for mistake in set(answers.MISTAKES) - {"talk"}:
            wrong = author | {"mistake": mistake}
            candidates.append((end, answers.answer(random.Random(1), *kernel, wrong)))
        for belief in set(answers.BELIEFS) & {name for name, _ in kernel[0]} | {end}:
            if belief in answers.BELIEFS:
                wrong = author | {"believes": {belief}}
                candidates.append((end, answers.answer(random.Random(1), *kernel, wrong)))
    statuses = judged(warpgym, problems, candidates)
    passed = [c for c, status in zip(candidates, statuses, strict=True) if status == "passed"]
    assert not passed


def steps_of(text):
    """Steps of "x: A relu, B plus 3; sum of each row"."""
    steps = []
    for step in text.split("x: ")[1].split(";")[0].split(", "):
        name = max((name for name in kernels.STEPS if step[2:].startswith(name)), key=len)
        steps.append((name, step[2 + len(name) :].strip()))
    return tuple(steps)


def test_data(tmp_path):
    """The same for a seed, but for what the judge admits; and what a problem's steps come to, no
    pair and no other problem has, in whatever order."""
    script = "import data, pathlib, sys; data.write(sys.argv[1], pathlib.Path(sys.argv[2]), 7, "
    script += "{'pairs': 40, 'train': 3, 'held_out': 2})"
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        subprocess.run([sys.executable, "-c", script, WARPGYM, folder], cwd=DEMO, check=True)
    files = [path for path in folders[0].rglob("*.*") if path.name not in LISTS]
    names = sorted(path.relative_to(folders[0]) for path in files)
    assert len(names) > 10
    for name in names:
        assert (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes()
    asked = [p.read_text(encoding="utf-8").split('"')[1] for p in folders[0].rglob("*.yaml")]
    trained = [pair["messages"][0]["content"] for pair in read_lines(folders[0] / PAIRS)]
    problems, taught = (
        [kernels.meaning(steps_of(text)) for text in texts] for texts in (asked, trained)
    )
    assert len(taught) == 40 and len(set(problems)) == len(problems)
    assert not set(problems) & set(taught)


def test_meaning_of_steps():
    """Whatever their order, where it makes no difference."""
    one = (("times", "2"), ("negated", ""))
    assert kernels.meaning(one) == kernels.meaning(one[::-1])
    assert kernels.meaning(STEPS) != kernels.meaning(STEPS[::-1])


# --- what came out -------------------------------------------------------------------------------


def figures(right):
    """A report's, all of them alike."""
    return [
        {"name": name, "p": p, "value": right, "low": right - 0.05, "high": right + 0.05}
        for name, p in (("fast_p_samples", 0), ("fast_p_samples", 1), ("speedup_solved", None))
    ]


def reports(*differences):
    return [
        (seed, {"runs": [{"figures": figures(0.25)}, {"figures": figures(0.25 + difference)}],
                "comparisons": [{"differences": figures(difference)}]}, {"all": 1.0})
        for seed, difference in enumerate(differences)
    ]  # fmt: skip


def test_interval_over_seeds():
    """Student's: mean 4, deviation 2, of three; and the same of logarithms."""
    mean, low, high = results.over_seeds([2, 4, 6])
    assert mean == 4 and high - mean == pytest.approx(4.303 * 2 / 3**0.5)
    assert mean - low == pytest.approx(high - mean)
    mean, low, high = results.over_seeds([2, 2, 16], factor=True)
    assert mean == pytest.approx(4) and mean / low == pytest.approx(high / mean) and low < 1
    assert results.over_seeds([1.0], factor=True) == (pytest.approx(1.0), None, None)


@pytest.mark.parametrize(
    ("differences", "verdict"),
    [
        ((0.5, 0.45, 0.55), ": met, right answers 50.0% [37.6%, 62.4%]."),
        ((0.5, 0.01, 0.1), ": NOT met, right answers 20.3% [-44.5%, 85.1%]."),
        ((0.5, 0.5), "not judged"),
    ],
)
def test_table_says_whether_the_bar_is_met(differences, verdict):
    lines = results.table(reports(*differences)).splitlines()
    (bar,) = [line for line in lines if line.startswith("The bar")]
    assert verdict in bar
    assert f"| all {len(differences)} | right answers | 25.0% |" in "\n".join(lines)
    assert lines[2] == (
        "| 0 | right answers | 25.0% [20.0%, 30.0%] | 75.0% [70.0%, 80.0%] | 50.0% [45.0%, 55.0%] |"
    )


def test_all_of_it_runs(warpgym):
    out = warpgym.folder / "demo"
    script = [sys.executable, ROOT / "demo" / "train" / "run.py", "--smoke", "--quiet"]
    script += ["--threads", "1", "--warpgym", WARPGYM, "--seeds", "5", "--out", out]
    done = captured(script, env=warpgym.environment)
    assert done.returncode == 0, done.stderr
    lines = read_lines(out / "seed-5" / "rl" / "metrics.jsonl")
    assert [line["step"] for line in lines] == [0, 1, 2]
    assert "eval/correct_rate" in lines[0] and "eval/correct_rate" in lines[-1]
    assert "| 5 | right answers |" in (out / "table.md").read_text(encoding="utf-8")
    page = (out / "seed-5" / "report.html").read_text(encoding="utf-8")
    assert "held-out-000" in page
