"""Every preset of configs/ trains, with its method, reward, turns and settings, in a world that is
small: what is too large for it is overridden, and nothing else. Retrieval, cold starts, and judges
over the network that come and go."""

import contextlib
import signal

import fake_tinker
import pytest
import serving
import support
import tiny_world

CONFIGS = support.ROOT / "configs"
POSITIONS = 640
# What a made-up judge says of an answer stands in it.
VERDICTS = (
    "status=wrong",
    "status=passed speedup=1.25 coverage=0.9",
    "status=passed speedup=2.5 coverage=0.125",
    "status=passed speedup=4.0 coverage=0.875",
)
LEVELS = {"level1": 3, "level2": 1, "level3": 1}
IDS = [f"{level}/{n}" for level, count in LEVELS.items() for n in range(1, count + 1)]
# What the presets' prompts say is tests/gym's; here they are short.
TEMPLATES = {
    "system": "kernels",
    "first": "{{#each retrieved}}{{solution|trim}}\n{{/each}}{{problem.id}}",
    "later": "{{#each retrieved}}{{solution|trim}}\n{{/each}}{{feedback|trim}}",
    "feedback": "{{status}}",
}
STYLES = {"warpgym": "all", "kevin": "last", "drkernel": "all"}
EXAMPLE = "def shown(x):\n    return triton_relu(x)\n"


def triton(words):
    return f"```python\n# {words}\nclass ModelNew:\n    pass\n```"


def conversation(*messages):
    """From the system's to an assistant's."""
    roles = ["system", *("user", "assistant") * 4]
    said = zip(roles, messages, strict=False)
    return {"messages": [{"role": role, "content": text} for role, text in said]}


def lessons():
    """Whatever was asked and came of it, the next answer may be any of them."""
    system, statuses = TEMPLATES["system"], ("passed", "wrong")
    outcomes = [(level_id, name) for level_id in IDS for name in statuses]
    for place, (level_id, status) in enumerate(outcomes):
        for shift in range(len(VERDICTS)):
            says = [triton(VERDICTS[(place + shift * k) % len(VERDICTS)]) for k in (1, 2, 3)]
            yield conversation(system, level_id, says[0], status, says[1], status, says[2])
            for asked in (level_id, status):
                yield conversation(system, f"{EXAMPLE.strip()}\n{asked}", says[0])
    for name in tiny_world.EXPRESSIONS:
        for expression in tiny_world.EXPRESSIONS.values():
            yield conversation(system, name, tiny_world.answer(expression))


def write_levels(folder):
    for level, count in LEVELS.items():
        for number in range(1, count + 1):
            text = support.kernelbench_module(factor=number)
            support.write(folder / level / f"{number}_square.py", text)


@pytest.fixture(scope="module")
def world(module_warpgym, tmp_path_factory):
    """The tiny world, KernelBench's levels beside it, short prompts, and a model for both."""
    folder = tmp_path_factory.mktemp("world")
    config = tiny_world.make(module_warpgym, folder, 8, more=lessons(), positions=POSITIONS)
    write_levels(folder / "problems")
    for style, history in STYLES.items():
        for name, text in TEMPLATES.items():
            support.write(folder / "prompts" / style / f"{name}.txt", text + "\n")
        support.write(folder / "prompts" / style / "style.json", f'{{"history": "{history}"}}')
    return config


@pytest.fixture
def judge(warpgym):
    """A server whose worker believes what an answer says of itself."""
    with serving.serving(warpgym, worker=False) as server:
        worker = serving.Worker(server.queue, "gpu", model="NVIDIA H100")
        support.wait_until(lambda: server.get("/v1/workers").json["workers"], "a worker")
        yield server
        worker.stop()


def metrics(out):
    lines = support.read_lines(out / "metrics.jsonl")
    return [{k: v for k, v in line.items() if not k.startswith("time/")} for line in lines]


def traces(out):
    lines = support.read_lines(out / "traces.jsonl")
    return [{key: value for key, value in line.items() if key != "verdict"} for line in lines]


# --- the presets ---------------------------------------------------------------------------------

# Rewards as docs/reference/rewards.md has them, from status, speedup and coverage of a verdict.
REWARDS = {
    "drkernel": lambda ok, speedup, coverage: ok * (0.5 + min(speedup, 3) / 2 + coverage / 2),
    "kevin": lambda ok, speedup, coverage: ok * (0.3 + speedup),
    "staged1": lambda ok, speedup, coverage: 0.3 + 0.5 + 0.2 * ok,
}
SMALL = (
    "train.steps=2", "train.prompts=2", "train.samples=6", "train.jobs=16", "train.threads=1",
    "train.evaluate_every=1", "train.evaluate_samples=2", "train.max_tokens=100",
)  # fmt: skip
TORCH = ("level1", "level2", "level3")
# Preset; its reward in the first stage, its discount, turns, the training backend; further settings
# that keep it small.
PRESETS = {
    "dr-kernel-8b": ("drkernel", 1.0, 3, "engine", ["train.batch_tokens=640"]),
    "dr-kernel-14b": ("drkernel", 1.0, 3, "engine", ["train.batch_tokens=640"]),
    "kevin-retrieval-qwen3-30b-a3b-tinker": ("kevin", 0.4, 4, "tinker", ["train.lora_rank=4"]),
    "one-80gb-gpu": ("staged1", 0.4, 3, "tinker", ["train.lora_rank=4"]),
    "laptop-cpu": ("staged1", 1.0, 1, "engine", [
        "train.batch_tokens=640", "train.problems=plus minus twice half", "train.held_out=half",
    ]),
}  # fmt: skip


def test_every_preset_is_here():
    assert {path.stem for path in CONFIGS.glob("*.yaml")} == set(PRESETS)


def test_sizes_of_one_recipe_differ_only_in_the_model():
    texts = [(CONFIGS / f"dr-kernel-{size}.yaml").read_text("utf-8") for size in ("8b", "14b")]
    assert texts[0].replace("8B", "14B").replace("8b", "14b") == texts[1]


@contextlib.contextmanager
def backend(kind, world, folder):
    """The settings of the training backend: a directory, or a service and its model's name."""
    model = world.parent / "base" / "model"
    if kind == "engine":
        yield [f"train.model={model}"]
        return
    with fake_tinker.FakeTinker(model, folder) as service:
        yield [f"train.model={fake_tinker.BASE}", f"train.tokenizer={model}",
               f"train.url={service.url}"]  # fmt: skip


def group_of(trace):
    """Of rows that are compared: an episode's number has its problem's in it."""
    return trace["step"], trace["rollout"] // 6, trace["turn"]


def check_rewards(lines, reward):
    for line in lines:
        verdict = line["verdict"]
        if verdict is None or line["status"] not in ("passed", "wrong"):
            continue
        ok = line["status"] == "passed"
        speedup, coverage = line["speedup"] or 0, line["coverage"] or 0
        assert line["reward"] == pytest.approx(REWARDS[reward](ok, speedup, coverage)), line


LAZY, REJECTED = 32, 8 + 16 + 32  # rl/method/batch.h


def check_returns(lines, gamma):
    """What a turn that was rejected got, the turns before it did not."""
    episodes = {}
    for line in lines:
        episodes.setdefault((line["step"], line["rollout"]), []).append(line)
    for turns in episodes.values():
        following = 0
        for line in reversed(turns):
            worth = 0 if line["drop"] & REJECTED else line["reward"]
            following = worth + gamma * following
            if not line["drop"] & REJECTED:
                assert line["return"] == pytest.approx(following), line


def check_advantages(lines):
    """Leave-one-out, among those of the same turn that are trained on."""
    groups = {}
    for line in lines:
        if line["drop"] == 0:
            groups.setdefault(group_of(line), []).append(line)
    for members in groups.values():
        total = sum(member["return"] for member in members)
        for member in members:
            others = (total - member["return"]) / max(len(members) - 1, 1)
            assert member["advantage"] == pytest.approx(member["return"] - others, abs=1e-6)
    assert groups


def check_coverage(lines, enabled):
    """PRS: of correct turns all below 0.3 are rejected, and none from 0.4 on."""
    for line in lines:
        known = enabled and line["status"] == "passed" and line["coverage"] is not None
        if not known or line["coverage"] < 0.3 or line["coverage"] >= 0.4:
            lazy = known and line["coverage"] < 0.3
            assert bool(line["drop"] & LAZY) == lazy, line
    assert any(line["drop"] & LAZY for line in lines) == enabled


@pytest.mark.parametrize("name", PRESETS)
def test_preset(warpgym, world, tmp_path, judge, name):
    reward, gamma, turns, kind, more = PRESETS[name]
    out, index = tmp_path / "run", tmp_path / "index"
    pair = {"name": "square relu", "language": "triton", "reference": "relu(x)",
            "solution": EXAMPLE}  # fmt: skip
    support.write_lines(tmp_path / "pairs.jsonl", [pair])
    run = warpgym.ok("index", "build", index, "--format", "pairs", tmp_path / "pairs.jsonl")
    url = f"client.url=http://127.0.0.1:{judge.port}"
    with backend(kind, world, tmp_path) as trained:
        run = warpgym(
            "train", CONFIGS / f"{name}.yaml", "--out", out, "--quiet", *SMALL, *more, *trained,
            f"train.context={POSITIONS}", f"prompts.path={world.parent / 'prompts'}",
            f"problems.path={world.parent / 'problems'}", f"retrieval.directory={index}",
            *([] if name == "laptop-cpu" else [url]),
        )  # fmt: skip
    assert run.status == support.PASSED, run
    lines, steps = support.read_lines(out / "traces.jsonl"), metrics(out)
    assert [step["step"] for step in steps] == [0, 1, 2]
    assert all("eval/fast_1" in step for step in steps)
    assert {line["turn"] for line in lines} == set(range(turns))
    assert any(step.get("optim/changes", 0) > 0 for step in steps)
    check_rewards(lines, reward)
    check_returns(lines, gamma)
    check_advantages(lines)
    check_coverage(lines, reward == "drkernel")
    prompts = ["".join(message["content"] for message in line["prompt"]) for line in lines]
    assert all((EXAMPLE.strip() in prompt) == (name[:5] == "kevin") for prompt in prompts)
    # A conversation that grows, or one that is rewritten each turn.
    lengths = {line["turn"]: len(line["prompt"]) for line in lines}
    assert all(n == 2 + (0 if name[:5] == "kevin" else 2 * turn) for turn, n in lengths.items())
    if name != "laptop-cpu":
        assert {line["status"] for line in lines} >= {"passed", "wrong"}


# --- retrieval -----------------------------------------------------------------------------------

REFERENCES = {
    "sums": "void solution(const float *x, float *y, size_t n)\n{\n    float sum = 0;\n"
    "    for (size_t i = 0; i < n; i++)\n        y[i] = sum += expf(x[i]);\n}\n",
    "backwards": "void solution(const float *x, float *y, size_t n)\n{\n"
    "    while (n--)\n        *y++ = sqrtf(fabsf(x[n]));\n}\n",
    "tops": "void solution(const float *x, float *y, size_t n)\n{\n    float top = x[0];\n"
    "    for (size_t i = 1; i < n; i++)\n        if (x[i] > top)\n            top = x[i];\n"
    "    memset(y, 0, n * sizeof *y);\n    y[0] = fmaxf(top, 0);\n}\n",
}


def renamed(text):
    """The same to the guard."""
    pairs = (("*x", "*left"), ("x[", "left["), ("sum", "all"), ("*y", "*right"), ("y[", "right["))
    for one, other in pairs:
        text = text.replace(one, other)
    return text


def example(name, problem, reference, solution):
    return {"name": f"plus sums {name}", "problem": problem, "language": "c",
            "reference": reference, "solution": f"/* shows {name} */\n{solution}"}  # fmt: skip


def corpus(folder):
    own = tiny_world.source(tiny_world.EXPRESSIONS["plus"], "size_t")
    fast = "void solution(const float *x, float *y, size_t n)\n{\n    scan_with_avx(x, y, n);\n}\n"
    tops = "void solution(const float *x, float *y, size_t n)\n{\n    y[cblas_isamax(x)] = 1;\n}\n"
    back = "void solution(const float *x, float *y, size_t n)\n{\n    reverse(x, x + n, y);\n}\n"
    pairs = [
        example("own", "plus", own, "int own(void);\n"),
        example("own renamed", "", renamed(own), "int renamed(void);\n"),
        example("held out", "sums", REFERENCES["sums"], fast),
        example("held out renamed", "", renamed(REFERENCES["sums"]), "scan(left, right, n);\n"),
        example("held out stolen", "", REFERENCES["tops"], renamed(fast)),
        example("another", "", REFERENCES["backwards"], back),
        example("a third", "", REFERENCES["tops"].replace("fmaxf", "fminf"), tops),
    ]
    support.write_lines(folder / "pairs.jsonl", pairs)
    return folder / "pairs.jsonl"


def shown(lines):
    text = "".join(m["content"] for line in lines for m in line["prompt"])
    names = ("own", "own renamed", "held out", "held out renamed", "held out stolen", "another",
             "a third")  # fmt: skip
    return {name for name in names if f"/* shows {name} */" in text}


def test_retrieved_examples(warpgym, world, tmp_path):
    """They stand in the prompts that are trained on; none gives the problem away, nor one that is
    held out; and a run that goes on has the same."""
    place = tmp_path / "problems" / "sums"
    support.write(place / "problem.yaml", tiny_world.PROBLEM.format(name="sums"))
    text = "#include <math.h>\n#include <stddef.h>\n\n" + REFERENCES["sums"]
    support.write(place / "reference.c", text)
    warpgym.ok("index", "build", tmp_path / "index", "--format", "pairs", corpus(tmp_path))
    whole, parts, open_ = (tmp_path / "runs" / name for name in ("whole", "parts", "open"))
    common = (
        "train.problems=plus", "train.prompts=1", "train.samples=4", "train.batch_tokens=640",
        "gym.style=warpgym", "gym.retrieve=3", "gym.turns=2",
        f"retrieval.directory={tmp_path / 'index'}",
    )  # fmt: skip

    def train(out, *pairs):
        warpgym.ok("train", world, "--out", out, "--quiet", "--problems",
                      tmp_path / "problems", *common, *pairs)  # fmt: skip

    train(open_, "train.steps=1")
    assert shown(traces(open_)) >= {"held out", "another"}
    assert not shown(traces(open_)) & {"own", "own renamed"}
    held_out = ("train.held_out=sums", "train.evaluate_every=2", "train.evaluate_samples=2")
    train(whole, "train.steps=2", *held_out)
    assert shown(traces(whole)) == {"another", "a third"}
    for path in (whole / "evaluations").glob("*.jsonl"):
        turns = [turn for line in support.read_lines(path) for turn in line["turns"]]
        assert "another" in shown(turns) and "held out" not in " ".join(shown(turns))
    # The run resumes by its name, without the path of the problems.
    train(parts, "train.steps=1", *held_out)
    warpgym.ok("runs", "resume", "parts", "train.steps=2", "--quiet")
    assert traces(parts) == traces(whole)
    for one, two in zip(metrics(parts), metrics(whole), strict=True):
        for name in (one.keys() & two.keys()) - {"progress/done_frac"}:
            assert one[name] == two[name], name


# --- cold start ----------------------------------------------------------------------------------


def test_cold_start_of_played_episodes(warpgym, world, tmp_path):
    """What a policy played is what another learns: all of its turns, and then it plays itself."""
    said = ["I begin.", tiny_world.answer(tiny_world.EXPRESSIONS["plus"])]
    script = [{"problem": "*", "turn": n, "answer": text} for n, text in enumerate(said)]
    support.write_lines(tmp_path / "script.jsonl", script)
    places = ["-s", f"problems.path={world.parent / 'problems'}"]
    places += ["-s", f"prompts.path={world.parent / 'prompts'}", "-s", "gym.style=terse"]
    run = warpgym(
        "rollout", "--policy", f"scripted:{tmp_path / 'script.jsonl'}",
        "--out", tmp_path / "teacher", "--samples", "2", "--no-timing", "--quiet",
        "-s", "gym.turns=2", "-s", "gym.shots=0",
        *places, "plus",
    )  # fmt: skip
    assert run.status in (support.PASSED, support.SOME_FAILED), run
    played = tmp_path / "teacher" / "trajectories.jsonl"
    assert [len(line["messages"]) for line in support.read_lines(played)] == [4, 4]
    # The same answers, each alone, have as many tokens to learn.
    alone = [tiny_world.talk("plus", text) for text in said] * 2
    support.write_lines(tmp_path / "alone.jsonl", alone)
    targets = {}
    for name, data in (("played", played), ("alone", tmp_path / "alone.jsonl")):
        out = tmp_path / name
        run = warpgym.ok("train", world, "-o", out, "-q", "train.steps=0", f"train.sft_data={data}")
        targets[name] = sum(line["sft/targets"] for line in metrics(out))
    assert targets["played"] == targets["alone"]


# --- a disk that fills ---------------------------------------------------------------------------


def fill(folder):
    """To the last byte, which a write of zeros to a file of its own finds."""
    with (folder / "filler").open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(1 << 16))


def test_disk_that_fills(warpgym, world, tmp_path, small_disk):
    """Between two steps: one sentence; with room again, it goes on to the same numbers."""
    out, alone = small_disk / "run", tmp_path / "alone"
    task = ("train.problems=plus minus", "train.prompts=2", "train.samples=4")
    process = warpgym.start(
        "train", world, "--out", out, "--quiet", *task, "train.steps=1000", "train.save_every=1",
        "train.keep=1",
    )  # fmt: skip
    checkpoints = out / "checkpoints.jsonl"
    support.wait_until(lambda: checkpoints.exists() and checkpoints.stat().st_size > 0, "a step")
    fill(small_disk)
    run = warpgym.finish(process, expect=support.INFRASTRUCTURE)
    assert "No space left on device" in run.err.splitlines()[0] and str(out) in run.err
    saved = support.read_lines(checkpoints)[-1]["step"]
    assert f"step {saved} is saved; `warpgym runs resume {out}` resumes" in run.err
    (small_disk / "filler").unlink()
    steps = f"train.steps={saved + 2}"
    run = warpgym.ok("runs", "resume", out, "--quiet", steps)
    run = warpgym.ok("train", world, "--out", alone, "--quiet", *task, steps)
    assert traces(out) == traces(alone)
    done = "progress/done_frac"  # of a thousand steps, once
    for one, two in zip(metrics(out), metrics(alone), strict=True):
        assert one | {done: 0} == two | {done: 0}


# --- judges over the network ---------------------------------------------------------------------


def start_far(warpgym, world, out, port, *more):
    return warpgym.start(
        "train", world, "--out", out, "--quiet", "--server", f"http://127.0.0.1:{port}",
        "train.problems=plus minus", "train.steps=5", "train.prompts=2", "train.samples=4",
        "client.retry_budget_ms=100ms", *more,
    )  # fmt: skip


def wait_for_step(out):
    lines = out / "metrics.jsonl"
    support.wait_until(lambda: lines.exists() and lines.read_bytes().count(b"\n") > 0, "a step")


def test_judge_that_dies_for_good(warpgym, world, tmp_path):
    """One sentence, with what was done saved; another judge goes on, to the numbers of a run that
    never knew of it."""
    out, alone = tmp_path / "run", tmp_path / "alone"
    places = ("-s", f"problems.path={world.parent / 'problems'}")
    server = serving.Server(warpgym, "--workers", "2", *places)
    process = start_far(warpgym, world, out, server.port, "train.wait_ms=300ms")
    wait_for_step(out)
    server.stop(signal.SIGKILL)
    run = warpgym.finish(process, expect=support.INFRASTRUCTURE)
    complaint, saved = run.err.splitlines()
    done = len(metrics(out))
    assert f"127.0.0.1:{server.port}" in complaint
    assert f"step {done} is saved; `warpgym runs resume {out}` resumes" in saved
    assert 0 < done < 5
    run = warpgym.ok("runs", "resume", out, "--quiet", "client.url=none")
    run = warpgym.ok(
        "train", world, "--out", alone, "--quiet", "train.problems=plus minus", "train.steps=5",
        "train.prompts=2", "train.samples=4",
    )  # fmt: skip
    assert metrics(out) == metrics(alone) and traces(out) == traces(alone)


def test_worker_that_dies(warpgym, world, tmp_path):
    """What it had is judged by another one."""
    out = tmp_path / "run"
    with serving.serving(warpgym, worker=False) as server:
        workers = [serving.Worker(server.queue, name, lease_ms=500) for name in ("one", "two")]
        support.wait_until(lambda: len(server.get("/v1/workers").json["workers"]) == 2, "workers")
        process = start_far(warpgym, world, out, server.port)
        support.wait_until(lambda: all(worker.claimed for worker in workers), "both at work")
        workers[0].stop(signal.SIGKILL)
        run = warpgym.finish(process)
        workers[1].stop()
    assert run.status == support.PASSED, run
    lines = metrics(out)
    assert len(lines) == 5 and all(line["batch/excluded"] == 0 for line in lines)
    assert all(line["batch/num_trajectories"] == 8 for line in lines)
