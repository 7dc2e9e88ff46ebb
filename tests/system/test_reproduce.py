"""The reproduction of the papers' claims: what the crowd says of itself is what the judge says, and
all of it runs. What comes out is measured by hand (docs/measurements)."""

import json
import math
import random
import sys

import pytest
from support import ROOT, WARPGYM, captured, read_lines

sys.path[:0] = [str(ROOT / "demo" / "reproduce"), str(ROOT / "demo" / "train")]
import answers  # noqa: E402
import conversations  # noqa: E402
import kernels  # noqa: E402
import modules  # noqa: E402
import page  # noqa: E402
import variants  # noqa: E402

STEPS = (("at most", "0.5"), ("absolute", ""), ("times z", ""))
ENDS = ("each", *kernels.ROWS)
SIZE = ("gym.turns", "train.prompts", "train.samples")


@pytest.fixture(scope="module")
def problems(tmp_path_factory):
    folder = tmp_path_factory.mktemp("problems")
    for end in ENDS:
        place = folder / end
        place.mkdir()
        (place / "problem.yaml").write_text(kernels.problem(end, STEPS, end), encoding="utf-8")
        (place / "reference.c").write_text(kernels.reference(STEPS, end), encoding="utf-8")
    return folder


def judged(warpgym, problems, candidates):
    batch, out = warpgym.folder / "batch.jsonl", warpgym.folder / "verdicts.jsonl"
    lines = [{"problem": end, "source": source} for end, source in candidates]
    batch.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    warpgym("eval", "--problems", problems, "--no-timing", "--out", out, "--quiet", batch)
    return [verdict["status"] for verdict in read_lines(out)]


def test_solutions_of_the_library_pass(warpgym, problems):
    rng = random.Random(1)
    candidates = [(end, conversations.program(rng, STEPS, end)) for end in ENDS]
    assert set(judged(warpgym, problems, candidates)) == {"passed"}


@pytest.mark.parametrize("mistake", ["", "forgotten", "syntax"])
def test_statuses_are_those_of_the_judge(warpgym, problems, mistake):
    rng = random.Random(1)
    author = answers.careful("fused") | {"mistake": mistake}
    code = answers.answer(rng, STEPS, "each", author)
    code = code.removeprefix("```c\n").removesuffix("```")
    (status,) = judged(warpgym, problems, [("each", code)])
    assert conversations.status(rng, author).split()[0] == status


def test_feedback_is_what_the_crowd_reads():
    """One line of prompts/kernel/feedback.txt: a status, and a speed where there is one."""
    prompts = ROOT / "demo" / "reproduce" / "prompts" / "kernel"
    text = (prompts / "feedback.txt").read_text(encoding="utf-8")
    assert text == "{{status}}{{#if timing.speedup}} {{timing.speedup|fixed:1}}{{/if}}\n"
    said = conversations.status(random.Random(1), answers.careful("fused"))
    word, speed = said.split()
    assert word == "passed" and speed == f"{float(speed):.1f}"


def test_a_conversation_alternates_and_asks_once():
    rng, seen = random.Random(1), set()
    for _ in range(400):
        kernel = kernels.draw(rng, 1, 4)
        practised = answers.draw_steps(rng, 6)
        said = conversations.conversation(rng, kernel, practised)
        roles = [role for role, _ in said]
        assert roles == ["user", "assistant"] * (len(said) // 2)
        assert all(content for _, content in said)
        seen.add(len(said))
    assert seen == {2, 4, 6}


def test_an_example_is_of_another_kernel():
    rng = random.Random(1)
    for _ in range(100):
        steps, end = kernels.draw(rng, 2, 4)
        others, other_end = conversations.similar(rng, steps, end)
        assert other_end == end and others != steps
        assert set(others) & set(steps)


def test_claims_compare_variants_that_differ_in_what_they_say():
    for _, better, other, figures in variants.CLAIMS:
        compared = [variants.VARIANTS[name] for name in (better, other)]
        assert compared[0].settings != compared[1].settings
        assert compared[0].world == compared[1].world
        assert set(figures) <= set(page.SHOWN[compared[0].world])
    answers_of_a_step = {
        (one.world, math.prod(one.settings[name] for name in SIZE))
        for one in variants.VARIANTS.values()
        if one.settings
    }
    assert answers_of_a_step == {("native", 72), ("modules", 36)}


@pytest.fixture(scope="module")
def torch_problems(tmp_path_factory):
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("modules")
    (folder / "torch").mkdir()
    for end in ("each", "mean"):
        text = modules.problem(STEPS, end)
        (folder / "torch" / f"{end}.py").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.time_limit(times=3)
def test_modules_pass_by_each_style(warpgym, torch_problems):
    """And the profile says how much of each is its author's own."""
    batch, out = warpgym.folder / "batch.jsonl", warpgym.folder / "verdicts.jsonl"
    tasks = [(end, style) for end in ("each", "mean") for style in modules.STYLES]
    with batch.open("w", encoding="utf-8") as lines:
        for end, style in tasks:
            answer = modules.answer(random.Random(1), STEPS, end, modules.careful(style))
            code = answer.removeprefix("```python\n").removesuffix("```")
            problem = str(torch_problems / "torch" / f"{end}.py")
            lines.write(json.dumps({"problem": problem, "source": code}) + "\n")
    environment = {"WARPGYM_TORCH_DEVICE": "cpu"}
    arguments = ["--out", out, "--quiet", "-s", "timing.budget_ms=5ms", batch]
    warpgym("eval", *arguments, environment=environment)
    verdicts = read_lines(out)
    assert [verdict["status"] for verdict in verdicts] == ["passed"] * len(tasks), verdicts
    found = [verdict["profile"]["own_time_fraction"] for verdict in verdicts]
    shares = dict(zip(tasks, found, strict=True))
    for end in ("each", "mean"):
        assert shares[end, "lazy"] == 0 < shares[end, "own"], shares


def test_prompts_of_modules_match_the_training_pairs(warpgym, torch_problems):
    prompts = ROOT / "demo" / "reproduce" / "prompts"
    style = ["-s", "gym.style=kernel", "-s", f"prompts.path={prompts}", "-s", "gym.language=python"]
    run = warpgym("prompt", "torch/mean", "--problems", torch_problems, *style, "--json")
    messages = json.loads(run.out)["messages"]
    wanted = modules.problem(STEPS, "mean").rstrip("\n")
    assert messages == [{"role": "user", "content": wanted}]


def turn(correct, speedup, excluded=False, own=None):
    verdict = {"profile": {"own_time_fraction": own}}
    return {"correct": correct, "speedup": speedup, "excluded": excluded, "verdict": verdict}


def test_figures_of_trajectories(tmp_path):
    episodes = [
        [turn(True, 1.3, own=0.8), turn(False, 0), turn(False, 0)],
        [turn(False, 0), turn(True, 1.1), turn(True, 3.0)],
        [turn(True, 9.0, excluded=True)],
        [turn(False, 0)] * 3,
    ]
    (tmp_path / "held-out").mkdir()
    lines = "".join(json.dumps({"turns": turns}) + "\n" for turns in episodes)
    (tmp_path / "held-out" / "trajectories.jsonl").write_text(lines, encoding="utf-8")
    result = page.measure(tmp_path, 3)
    found = [result[name] for name in page.TITLES]
    assert found == [0.25, 0.25, 0.5, 0.5, 0.8, 0.25] and result["episodes"] == 4
    assert page.measure(tmp_path, 2)["any_fast"] == 0.25


@pytest.mark.parametrize(
    ("differences", "says"),
    [
        ((0.1, 0.12, 0.11), "shows"),
        ((-0.1, -0.12, -0.11), "the opposite shows"),
        ((0.1, -0.2, 0.05), "does not show"),
        ((0.1,), "one seed says nothing"),
    ],
)
def test_a_claim_shows_beyond_its_interval(differences, says):
    _, better, other, _ = variants.CLAIMS[0]
    base = dict.fromkeys(page.TITLES, 0.5)
    found = {better: {}, other: {}}
    for seed, difference in enumerate(differences):
        found[other][seed] = base
        found[better][seed] = {name: 0.5 + difference for name in base}
    rows = [row for row in page.claims_table(found) if variants.CLAIMS[0][0] in row]
    assert len(rows) == 2 and all(f"| {says} |" in row for row in rows), rows


def test_all_of_it_runs(warpgym):
    out = warpgym.folder / "reproduce"
    script = [sys.executable, ROOT / "demo" / "reproduce" / "run.py", "--smoke", "--quiet"]
    script += ["--threads", "1", "--warpgym", WARPGYM, "--seeds", "5", "--out", out]
    script += ["--variants", "three-turns", "mismatch-mrs", "retrieval"]
    done = captured(script, env=warpgym.environment)
    assert done.returncode == 0, done.stderr
    place, found = out / "seed-5" / "native", {}
    for variant in ("three-turns", "mismatch-mrs", "retrieval"):
        found[variant] = json.loads((place / variant / "result.json").read_text(encoding="utf-8"))
        assert found[variant]["episodes"] == 2
        for name in ("kernel/correct_rate", "reward/mean"):
            curve = [value for _, value in found[variant]["curves"][name] if value is not None]
            assert len(curve) >= 2
    seen = [value for value in found["mismatch-mrs"]["mismatch"] if value is not None]
    assert max(seen) > 1e-6  # 4 bits are few
    (first, *_) = read_lines(place / "retrieval" / "held-out" / "trajectories.jsonl")
    assert "void solution" in first["messages"][0]["content"]  # a solution of the library
    assert "| retrieval | 1 |" in (out / "page.md").read_text(encoding="utf-8")
    again = captured(script, env=warpgym.environment)
    assert again.returncode == 0 and "seed 5, retrieval" not in again.stdout


@pytest.mark.time_limit(times=3)
def test_lazy_kernels_run(warpgym):
    pytest.importorskip("torch")
    out = warpgym.folder / "reproduce"
    script = [sys.executable, ROOT / "demo" / "reproduce" / "run.py", "--smoke", "--quiet"]
    script += ["--threads", "1", "--warpgym", WARPGYM, "--seeds", "5", "--out", out]
    done = captured([*script, "--variants", "lazy-pr-prs"], env=warpgym.environment)
    assert done.returncode == 0, done.stderr
    assert "| lazy-pr-prs | 1 |" in (out / "page.md").read_text(encoding="utf-8")
