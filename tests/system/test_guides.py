"""Types the commands of docs/guide/*.md and docs/tutorials/*.md.

A fenced block says in its info string what it is:

    ```sh                     typed, block after block, in a folder of the page's own
    ```sh exit: 1             the same; the last command ends with that status
    ```sh serves: URL         typed; it prints its URL and runs until the page ends. URL, in later
                              blocks, leads to it
    ```sh no-run: REASON      not typed; commands and options have to exist
    ```sh head|node|client    typed by test_deploy_page.py; commands and options have to exist
    ```LANGUAGE file=NAME     written to that file before the page's first command
    ```LANGUAGE               neither; must not hold a command of warpgym

The folder looks like a checkout (links to demo, configs, problems, ...). One server, one model
endpoint, one Tinker service and one small training run are shared by all pages; addresses in
commands lead to them. Models and numbers of steps are small.
"""

import contextlib
import os
import re
import shlex
import shutil
import subprocess

import pytest
import serving
import tiny_world
from fake_openai import FakeOpenAI, streamed
from fake_tinker import BASE, KEY, FakeTinker
from support import PYTHON, ROOT, WARPGYM, write

GUIDES = sorted(
    page for folder in ("guide", "tutorials") for page in (ROOT / "docs" / folder).glob("*.md")
)
BLOCK = re.compile(r"^( *)(````?)(?!`)(\S[^\n]*)?\n(.*?)^ *\2$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^ *(?:\$ )?(?:\./)?warpgym [a-z]", re.MULTILINE)
LINKED = ["configs", "demo", "deploy", "examples", "problems", "prompts", "python", "src", "tests"]
# Where each of the page's commands is tested as it stands.
ROLES = {"head", "node", "client"}
# Figures are not what is tested here.
QUICK = {
    "WARPGYM_GYM_TURNS": "2",
    "WARPGYM_TIMING_BUDGET_MS": "5",
    "WARPGYM_TIMING_MIN_SAMPLES": "4",
    "WARPGYM_TIMING_MAX_SAMPLES": "8",
    "WARPGYM_POLICY_MAX_TOKENS": "64",
    "WARPGYM_TRAIN_STEPS": "2",
    "WARPGYM_TRAIN_PROMPTS": "2",
    "WARPGYM_TRAIN_SAMPLES": "2",
    "WARPGYM_TRAIN_MAX_TOKENS": "64",
    "WARPGYM_TRAIN_CONTEXT": "8192",
    "WARPGYM_TRAIN_BATCH_TOKENS": "8192",
    "WARPGYM_TRAIN_SFT_MAX_TOKENS": "8192",
    "WARPGYM_TRAIN_PROBLEMS": "relu row_sum gemv",
    "WARPGYM_TRAIN_HELD_OUT": "softmax",
    "WARPGYM_TRAIN_EVALUATE_SAMPLES": "1",
    "WARPGYM_TRAIN_TIMING": "false",
    "WARPGYM_GYM_TOKEN_BUDGET": "0",
}
POSITIONS = 8192  # of the model: as many characters as a prompt has, and more
SERVERS = ("http://gpu-host:10907", "http://127.0.0.1:10907", "http://localhost:10907")
# What takes hours, and less that does the same.
LESS = {"train.steps=400": "train.steps=3", "train.steps=20 ": "train.steps=3 "}
BLOCK_S = 60

ANSWER = """```c
#include <math.h>
#include <stddef.h>

void solution(const float *x, float *y, size_t rows, size_t cols)
{
    for (size_t row = 0; row < rows; row++) {
        float most = x[row * cols], sum = 0;
        for (size_t i = 1; i < cols; i++)
            most = fmaxf(most, x[row * cols + i]);
        for (size_t i = 0; i < cols; i++)
            sum += y[row * cols + i] = expf(x[row * cols + i] - most);
        for (size_t i = 0; i < cols; i++)
            y[row * cols + i] /= sum;
    }
}
```"""


class Block:
    def __init__(self, match):
        language, _, rest = (match[3] or "").strip().partition(" ")
        self.language = language
        self.text = re.sub(rf"^{match[1]}", "", match[4], flags=re.MULTILINE)
        self.file = rest.removeprefix("file=") if rest.startswith("file=") else None
        self.shell = language == "sh"
        self.reason = rest.removeprefix("no-run:").strip() if rest.startswith("no-run:") else None
        self.status = int(rest.removeprefix("exit:")) if rest.startswith("exit:") else 0
        self.serves = rest.removeprefix("serves:").strip() if rest.startswith("serves:") else None
        self.role = rest if rest in ROLES else None
        known = self.file or self.reason or self.role or self.serves or rest.startswith("exit:")
        known = known or not rest
        assert known, f"unknown info string: {match[3]}"
        assert not rest.startswith("no-run:") or self.reason, "no-run needs a reason"

    @property
    def typed(self):
        return self.shell and not self.reason and not self.role


def blocks(page):
    return [Block(match) for match in BLOCK.finditer(page.read_text(encoding="utf-8"))]


# --- what commands exist -------------------------------------------------------------------------


def words_of(text):
    """The commands of a block: lists of words that begin behind `warpgym`."""
    text = re.sub(r"<<(\w+)\n.*?^\1$", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"(^|\s)#.*$", "", text.replace("\\\n", " "), flags=re.MULTILINE)
    lexer = shlex.shlex(text, posix=True, punctuation_chars="|&;()<>\n")
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t", True, ""
    words = []
    for word in [*lexer, ";"]:
        if set(word) <= set("|&;()<>\n"):
            if words[:1] in (["warpgym"], ["./warpgym"]):
                yield words[1:]
            words = []
        elif words or not (word in ("do", "then", "!", "{") or re.match(r"\w+=", word)):
            words.append(word)


def option_exists(option, text):
    if re.search(rf"(?<![\w-]){re.escape(option)}\b", text):
        return True
    return f"--[no-]{option.removeprefix('--no-')}" in text or (
        f"--[no-]{option.removeprefix('--')}" in text
    )


def check_words(warpgym, words, helps):
    names = {
        line[2:].split("  ")[0].strip() for line in helps[""].splitlines() if line[2:3].strip()
    }
    command = next((" ".join(words[:n]) for n in (2, 1) if " ".join(words[:n]) in names), None)
    if words[0].startswith("-") or words[0] == "help":
        return
    assert command, f"no such command: warpgym {' '.join(words)}"
    if command not in helps:
        run = warpgym.ok(*command.split(), "--help")
        helps[command] = run.out
    for word in words:
        option = word.partition("=")[0]
        if re.fullmatch(r"--?[a-z][a-z-]*", option):
            assert option_exists(option, helps[command]), f"{command} has no {option}"


@pytest.fixture(scope="module")
def helps(module_warpgym):
    return {"": module_warpgym("help", "all").out}


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
def test_commands_exist(page, module_warpgym, helps):
    for block in blocks(page):
        if block.shell:
            for words in words_of(block.text):
                check_words(module_warpgym, words, helps)
        else:
            assert not COMMAND.search(block.text), (
                f"a block of commands without `sh`:\n{block.text}"
            )


# --- what they do --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def endpoint():
    with FakeOpenAI(models=("Qwen3-8B",)) as running:
        running.plan = [streamed(ANSWER)]
        yield running


@pytest.fixture(scope="module")
def server(module_warpgym):
    environment = {**QUICK, "WARPGYM_SERVER_EPISODES_MAX": "100"}
    running = serving.Server(module_warpgym, "--workers", "2", environment=environment)
    yield running.url
    assert running.stop() == 0


@pytest.fixture(scope="module")
def trained(module_warpgym):
    """A model of a few thousand parameters and a training run of two steps."""
    folder = module_warpgym.folder / "world"
    world = tiny_world.make(module_warpgym, folder, epochs=4, positions=POSITIONS)
    module_warpgym.ok(
        *tiny_world.arguments(world, folder / "first"), "train.steps=2", "train.prompts=2",
        "train.problems=plus minus twice half", "train.held_out=minus", "train.evaluate_every=1",
    )  # fmt: skip
    return folder


@pytest.fixture(scope="module")
def user(module_warpgym):
    """The environment of a user with `warpgym` in PATH, and a KernelBench checkout at home."""
    commands = module_warpgym.folder / "bin"
    commands.mkdir()
    (commands / "warpgym").symlink_to(WARPGYM)
    (commands / "python3").symlink_to(PYTHON if PYTHON.exists() else shutil.which("python3"))
    level = module_warpgym.folder / "home" / "KernelBench" / "KernelBench" / "level1"
    module = (ROOT / "problems" / "torch" / "softmax_rows.py").read_text(encoding="utf-8")
    write(level / "23_Softmax.py", module)
    path = f"{commands}:{os.environ['PATH']}"
    return module_warpgym.environment | QUICK | {"PATH": path, "PYTHONPATH": str(ROOT / "python")}


@pytest.fixture(scope="module")
def addresses(trained, endpoint, server):
    """What pages write, and what it leads to."""
    with FakeTinker(trained / "base" / "model", trained, key=KEY) as tinker:
        yield dict.fromkeys(SERVERS, server) | {
            "http://localhost:8000/v1": endpoint.url,
            "https://…": tinker.url,
            "tml-…": KEY,
            "Qwen/Qwen3-8B": BASE,
        }


@pytest.fixture
def folder(tmp_path, trained):
    """The page's own: a checkout, as far as pages go, a model and a run."""
    for name in LINKED:
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "warpgym").symlink_to(WARPGYM)
    for name in ("Qwen3-0.6B", "Qwen3-8B", "Qwen2.5-Coder-0.5B-Instruct"):
        shutil.copytree(trained / "base" / "model", tmp_path / "models" / name)
    shutil.copytree(trained / "first", tmp_path / "runs" / "first")
    shutil.copytree(trained / "prompts", tmp_path / "terse")
    write(tmp_path / "my.yaml", "train: {model: models/Qwen3-0.6B, lora_rank: 4}\n")
    return tmp_path


@contextlib.contextmanager
def started(text, folder, environment):
    """A block that serves, on a free port: its URL."""
    command = re.sub(r"\s+#.*$", "", text.strip())
    command = re.sub(r" --listen \S+", "", command) + " --listen 127.0.0.1:0"
    process = subprocess.Popen(
        ["bash", "-euc", f"exec {command}"], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=(folder / "serves.log").open("wb"), text=True,
    )  # fmt: skip
    line = process.stdout.readline()
    try:
        found = re.search(r"http://[^ ,\n]+", line)
        assert found, line + (folder / "serves.log").read_text()
        yield found[0]
    finally:
        process.terminate()
        status = process.wait(BLOCK_S)
        process.stdout.close()
    assert status == 0, (folder / "serves.log").read_text()


@pytest.mark.parametrize(
    "page",
    [page for page in GUIDES if any(b.typed for b in blocks(page))],
    ids=lambda page: page.stem,
)
def test_commands_work(page, user, folder, addresses):
    if not PYTHON.exists():
        pytest.skip("no Python with PyTorch: `make setup` makes one")
    meant = addresses | LESS
    if page.stem in ("train", "train-a-small-model"):  # whole prompts take a minute
        user = user | {"WARPGYM_PROMPTS_PATH": str(folder / "terse"), "WARPGYM_GYM_STYLE": "terse"}

    def led(text):
        for written, other in meant.items():
            text = text.replace(written, other)
        return text

    for block in blocks(page):
        if block.file:
            write(folder / block.file, led(block.text))
    with contextlib.ExitStack() as stack:
        for block in blocks(page):
            if block.serves:
                url = stack.enter_context(started(led(block.text), folder, user))
                meant[block.serves] = url
            elif block.typed:
                type_block(page, block, led(block.text), cwd=folder, env=user)


def type_block(page, block, text, **options):
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", text],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=BLOCK_S,
        check=False,
        **options,
    )
    assert done.returncode == block.status, (
        f"{page.name}: status {done.returncode}\n{text}\n{done.stdout}\n{done.stderr}"
    )


def test_words_of_a_block():
    text = "A=1 warpgym eval --json x.c | jq . # warpgym no\n"
    text += 'for i in 1; do\n  ./warpgym ask \\\n    "a; b"\ndone'
    assert list(words_of(text)) == [["eval", "--json", "x.c"], ["ask", "a; b"]]
