"""Prompt files of other projects, in checkouts that the tests write (`--prompts DIR`).

What is expected is composed here as those projects do it: KernelBench's blocks are stripped, joined
and formatted by str.format, KernelGYM's template is formatted with the feedback.
"""

import json

import pytest
from support import CHECKOUT, PASSED, USAGE, write, write_lines

PROBLEM = "torch/matmul"
REFERENCE = (CHECKOUT / "problems" / f"{PROBLEM}.py").read_text()
INPUT = "class Model: # {{x}}\n    s = f'{{{y}}}'\n\n"
OUTPUT = "src = '''\nvoid f() {{ {0}; }}\n'''\n"
DISPLAYS = {"cuda": "CUDA things", "triton": "Triton things"}
PARTS = {
    "problem_statement": "\nWrite {backend_display}, {backend_display}!\n\n",
    "instruction": "Now \"optimise\" with {backend_display}.\n",
    "arch_block": "\n\nHere:\n\n\n{ref_arch_src}\n\n\n",
    "precision_note": "Note: {precision_display}.",
    "examples_block": "\n{examples_intro}\n\n{examples_entries}\n",
    "example_intro_one_shot": "One of {backend_display}:\n",
    "example_intro_few_shot": "Some of {backend_display}:",
    "example_entry_template": "\n{example_label}\n{input_code}\n=> {backend_display}:\n"
    "\n{output_code}\n",
}
OPTIONS = {
    "zero_shot": ["problem_statement", "arch_block", "precision_note", "instruction"],
    "one_shot": ["problem_statement", "examples_block", "arch_block", "instruction"],
    "few_shot": ["examples_block", "arch_block", "precision_note"],
}


def quoted(text):
    return '"""\n' + text + '"""'


def prompts_toml():
    lines = ["[meta]", 'default_precision = "bf16" # comment', "[shared]"]
    for name in ("problem_statement", "instruction"):
        lines.append(f"{name} = {quoted(PARTS[name])}")
    lines += ['few_shot_example_arch = "examples/in.py"', ""]
    for name, display in DISPLAYS.items():
        lines += [f"[backends.{name}]", f"backend_display = '{display}'"]
        lines.append('one_shot_new_arch = "examples/out.py"')
    pairs = '    ["examples/in.py", "examples/out.py"], # two\n'
    pairs += '    ["examples/out.py", "examples/in.py"],\n'
    cuda = lines.index("[backends.triton]")
    lines.insert(cuda, f"few_shot_examples = [\n{pairs}]")
    lines += ["[precision.bf16]", 'precision_display = "half of it"', "[templates.common]"]
    for name, text in PARTS.items():
        if name not in ("problem_statement", "instruction"):
            lines.append(f"{name} = {quoted(text)}")
    for name, components in OPTIONS.items():
        lines += [f"[options.{name}]", f"components = {json.dumps(components)}"]
        if name != "zero_shot":
            lines.append(f'requires_example = "{name}"')
    return "\n".join(lines) + "\n"


def composed(backend, option):
    """As KernelBench's constructor does."""
    display = DISPLAYS[backend]

    def entry(label, one, other):
        return PARTS["example_entry_template"].strip().format(
            example_label=label, input_code=one, output_code=other, backend_display=display
        )

    entries, intro = [entry("Example:", INPUT, OUTPUT)], "example_intro_one_shot"
    if option == "few_shot" and backend == "cuda":
        intro = "example_intro_few_shot"
        entries = [entry("Example 1:", INPUT, OUTPUT), entry("Example 2:", OUTPUT, INPUT)]
    shared = ("problem_statement", "instruction")
    parts = {name: text.strip() + "\n" for name, text in PARTS.items()}
    parts |= {name: PARTS[name].format(backend_display=display) for name in shared}
    blocks = [parts[name] for name in OPTIONS[option]]
    whole = "\n".join(blocks).strip() + "\n"
    values = {
        "ref_arch_src": REFERENCE,
        "precision_display": "half of it",
        "examples_intro": PARTS[intro].strip().format(backend_display=display),
        "examples_entries": "\n\n".join(entries).strip(),
    }
    return whole.format(**values).strip() + "\n"


@pytest.fixture(params=["src/kernelbench/prompts", "src/prompts"])
def kernelbench(tmp_path, request):
    folder = tmp_path / "checkout"
    write(folder / request.param / "prompts.toml", prompts_toml())
    write(folder / "examples" / "in.py", INPUT)
    write(folder / "examples" / "out.py", OUTPUT)
    write(folder / "README.md", "{{not a template")
    return folder


def contents(run):
    assert run.status == PASSED, run
    return [message["content"] for message in json.loads(run.out)["messages"]]


def script(folder, turns):
    """Answers without code."""
    rows = [{"problem": PROBLEM, "turn": n, "answer": f"none {n}"} for n in range(turns)]
    return f"scripted:{write_lines(folder / 'script.jsonl', rows)}"


@pytest.mark.parametrize("option", [*OPTIONS, None])
@pytest.mark.parametrize("language", ["torch-cuda", "triton"])
def test_kernelbench_to_the_letter(warpgym, kernelbench, language, option):
    style = ("--style", f"kernelbench-{option}") if option else ()
    command = ("prompt", "--prompts", kernelbench, *style, "--language", language, "--json")
    wanted = composed({"torch-cuda": "cuda", "triton": "triton"}[language], option or "one_shot")
    assert contents(warpgym(*command, PROBLEM)) == [wanted]


def test_kernelbench_is_checked_and_plays(warpgym, kernelbench, tmp_path):
    """Every style in every language that it has; later turns are ours."""
    run = warpgym("prompt", "--check", kernelbench)
    assert run.status == PASSED and "kernelbench-few_shot/triton.txt: new" in run.out, run
    policy = script(tmp_path, 2)
    run = warpgym("rollout", "--policy", policy, "--prompts", kernelbench, "--quiet",
                  "-s", "gym.language=triton", "-s", "gym.turns=2", "-o", tmp_path / "run",
                  PROBLEM)  # fmt: skip
    (episode,) = map(json.loads, (tmp_path / "run" / "trajectories.jsonl").read_text().splitlines())
    assert episode["style"] == "kernelbench", run
    assert episode["turns"][0]["prompt"][0]["content"] == composed("triton", "one_shot")
    assert '"status": "failed"' in episode["turns"][1]["prompt"][-1]["content"]


def test_a_language_that_it_lacks(warpgym, kernelbench):
    run = warpgym("prompt", "--prompts", kernelbench, "--language", "c", "relu")
    assert run.status == USAGE and "language of that style 'c'" in run.err, run


BAD = [
    ("[backends.cuda]", "[backends.cuda", "prompts.toml:", "']' is missing"),
    ("{precision_display}", "{precision}", "", "no placeholder that is known here: {precision}"),
    ("examples/out.py", "examples/away.py", "", "away.py"),
    ("examples/in.py", "../in.py", "", "no path within the checkout"),
    ('"precision_note"', '"hardware_specs"', "", "hardware_specs needs KernelBench's table"),
    ('"arch_block"', '"arch"', "", "no text templates.common.arch"),
]


@pytest.mark.parametrize("row", BAD)
def test_a_broken_prompts_toml(warpgym, kernelbench, row):
    old, new, place, words = row
    (path,) = kernelbench.rglob("prompts.toml")
    write(path, path.read_text().replace(old, new))
    run = warpgym("prompt", "--prompts", kernelbench, "--language", "triton", PROBLEM)
    assert run.status == USAGE and words in run.err and place in run.err, run


# --- KernelGYM -----------------------------------------------------------------------------------

YAML = """method: system
prompt: null

per_turn_prompts:
  - name: first_turn
    condition: "current_turn == 0"
    history_mode: all
    template: null
  - name: tool_response
    condition: "make_up_tool_response == True"
    history_mode: {history}
    template: {mark}
      Feedback of {{{{turn}}}}:

      Here: {{feedback}}

      Again as `ModelNew`.
"""
BEFORE, AFTER = "Feedback of {turn}:\n\nHere: {\n", "}\n\nAgain as `ModelNew`."


def kernelgym(folder, mark="|", history="all", place="drkernel/kernel"):
    name = "config/prompt_config/multi_turn_kernel.yaml"
    write(folder / place / name, YAML.format(mark=mark, history=history))
    return folder


def played(warpgym, folder, checkout, turns, *options):
    policy = script(folder, turns)
    run = warpgym("rollout", "--policy", policy, "--quiet", "--prompts", checkout,
                  "-s", "gym.language=triton", "-s", f"gym.turns={turns}", "-o", folder / "run",
                  *options, PROBLEM)  # fmt: skip
    (line,) = (folder / "run" / "trajectories.jsonl").read_text().splitlines()
    assert json.loads(line)["style"] == "kernelgym", run
    return json.loads(line)["turns"]


@pytest.mark.parametrize("place", ["drkernel/kernel", "kernel"])
@pytest.mark.parametrize(("mark", "ending"), [("|", "\n"), ("|-", "")])
def test_kernelgym_words_later_turns(warpgym, tmp_path, mark, ending, place):
    checkout = kernelgym(tmp_path / "checkout", mark, place=place)
    turns = played(warpgym, tmp_path, checkout, 2)
    first, later = (turn["prompt"][-1]["content"] for turn in turns)
    assert REFERENCE.strip() in first and not first.endswith("\n")
    assert later.startswith(BEFORE) and later.endswith(AFTER + ending)
    feedback = json.loads("{" + later[len(BEFORE) : -len(AFTER + ending)] + "}")
    assert feedback["status"] == "failed" and feedback["correctness"] is False


def test_kernelgym_history(warpgym, tmp_path):
    checkout = kernelgym(tmp_path / "checkout", history="initial+recent2")
    turns = played(warpgym, tmp_path, checkout, 3)
    last = turns[2]["prompt"]
    assert [message["role"] for message in last] == ["user", "assistant", "user"]
    assert last[1]["content"] == "none 1"
    for history in ("initial+recent3", "some", "initial+recent"):
        checkout = kernelgym(tmp_path / history, history=history)
        run = warpgym("prompt", "--prompts", checkout, "--language", "triton", PROBLEM)
        assert run.status == USAGE and "multi_turn_kernel.yaml:11:" in run.err, run


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("tool_response", "other", "has no tool_response with a template"),
        ("{feedback}", "{more}", "no placeholder that is known here: {more}"),
        ("per_turn_prompts:", "per_turn_prompts: [", "multi_turn_kernel.yaml:"),
    ],
)
def test_a_broken_yaml(warpgym, tmp_path, old, new, words):
    checkout = kernelgym(tmp_path / "checkout")
    (path,) = checkout.rglob("*.yaml")
    write(path, path.read_text().replace(old, new))
    run = warpgym("prompt", "--prompts", checkout, "--language", "triton", PROBLEM)
    assert run.status == USAGE and words in run.err, run
