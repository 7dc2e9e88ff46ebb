"""The judge's table of languages, against everything that lists them or goes by their names."""

import json
import re
import subprocess

import pytest
from support import CHECKOUT, PASSED, ROOT, SOME_FAILED, USAGE, WARPGYM, write

PAGE = CHECKOUT / "docs" / "reference" / "languages.md"
# A file beside the table may have the name of a language for a reason of its own.
OWN_REASONS = {
    "src/judge/request/language.c",  # the table
    "src/judge/request/language.h",
    "src/gym/prompt/checkout_kernelbench.c",  # the backends of KernelBench's prompts
    "src/retrieval/corpus_lines.c",  # what the solutions of two data sets are written in
    "src/server/kernelgym/request.c",  # the two backends of KernelGYM's protocol
    "src/server/kernelgym/result.c",
    "python/warpgym/ablation.py",  # the package
    "python/warpgym/triton_build.py",
}


def read_rows():
    lines = PAGE.read_text(encoding="utf-8").splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {
        name.strip("`"): {
            "title": title,
            "format": problems.partition(",")[0],
            "standard": "," in problems,
            "endings": files.replace("`", "").split(", "),
            "fence": fence.strip("`"),
        }
        for name, title, problems, files, fence, *_ in cells
    }


ROWS = read_rows()
NAMES = list(ROWS)
NATIVE = [name for name, row in ROWS.items() if row["format"] == "native"]
PROBLEMS = {"native": "relu", "torch": "torch/matmul"}


def test_page_is_the_table(warpgym):
    run = warpgym("languages", "--markdown")
    assert run.status == PASSED and run.out == PAGE.read_text(encoding="utf-8"), (
        "write it again: make generate"
    )
    listed = [line.split()[0] for line in warpgym("languages").out.splitlines()[1:]]
    assert listed == NAMES
    assert len(set(NAMES)) == len(NAMES) >= 6
    for form in PROBLEMS:
        rows = [row for row in ROWS.values() if row["format"] == form]
        assert sum(row["standard"] for row in rows) == 1
    assert warpgym("languages", "extra").status == USAGE


def test_openapi(idle):
    document = json.loads(idle.get("/openapi.json").text)
    assert json.dumps(document).count(json.dumps({"enum": NAMES})) == 2


def call_mcp(*calls):
    """The results of calls, of a server on standard input and output."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}}
    hello["clientInfo"] = {"name": "test", "version": "1"}
    results = []
    with subprocess.Popen(
        [WARPGYM, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        for method, params in [("initialize", hello), *calls]:
            call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            server.stdin.write(json.dumps(call) + "\n")
            server.stdin.flush()
            results.append(json.loads(server.stdout.readline())["result"])
        server.stdin.close()
    return results[1:]


def test_mcp():
    read = {"name": "read_problem", "arguments": {"problem": "relu"}}
    listing, problem = call_mcp(("tools/list", {}), ("tools/call", read))
    arguments = [tool["inputSchema"]["properties"] for tool in listing["tools"]]
    enums = [one["language"]["enum"] for one in arguments if "language" in one]
    assert enums == [NAMES] * 3
    assert problem["structuredContent"]["languages"] == NATIVE


@pytest.mark.parametrize("command", [("prompt",), ("index", "search")], ids=" ".join)
def test_help(warpgym, command):
    text = " ".join(warpgym(*command, "--help").out.split())
    assert re.search(r"--language NAME .*?: " + re.escape(", ".join(NAMES)), text)


@pytest.mark.parametrize("name", NAMES)
def test_prompts(warpgym, name):
    problem = PROBLEMS[ROWS[name]["format"]]
    run = warpgym("prompt", problem, "--language", name)
    if name == "python":  # a candidate may be plain PyTorch; no prompt asks for it
        assert run.status == USAGE and "unknown prompt language" in run.err
        return
    assert run.status == PASSED, run
    assert f"kernels in {ROWS[name]['title']}." in run.out
    assert f"```{ROWS[name]['fence']}\n" in run.out
    other = next(text for form, text in PROBLEMS.items() if form != ROWS[name]["format"])
    assert "does not solve" in warpgym("prompt", other, "--language", name).err


def test_standard_ones(warpgym):
    for form, problem in PROBLEMS.items():
        (title,) = [r["title"] for r in ROWS.values() if r["format"] == form and r["standard"]]
        assert f"kernels in {title}." in warpgym("prompt", problem).out


def test_unknown_one(warpgym, idle):
    names = ", ".join(NAMES)
    assert names in warpgym("prompt", "relu", "--language", "cobol").err
    verdict = warpgym.eval("-p", "relu", write(warpgym.folder / "a.cob", "x")).verdict
    assert verdict["status"] == "unsupported" and names in verdict["error"]["message"]
    body = {"problem": {"id": "relu"}, "candidate": {"source": "x", "language": "cobol"}}
    assert names in idle.post("/v1/evaluations", body).text


def test_endings(warpgym, tmp_path):
    """A directory's candidates are those whose files end like a row's."""
    for row in ROWS.values():
        for ending in row["endings"]:
            write(tmp_path / f"a{ending}", "x")
    write(tmp_path / "a.txt", "x")
    run = warpgym("eval", "--json", "-p", "relu", tmp_path)
    assert run.status == SOME_FAILED
    judged = {verdict["candidate"]["path"].rpartition(".")[2] for verdict in run.verdicts}
    assert judged == {ending[1:] for row in ROWS.values() for ending in row["endings"]}
    for verdict in run.verdicts:
        row = ROWS[verdict["candidate"]["language"]]
        assert "." + verdict["candidate"]["path"].rpartition(".")[2] in row["endings"]


def test_no_other_list():
    """What lists languages takes them from the table."""
    name = re.compile(r'torch-cuda|"(?:triton|cpp)"')
    sources = [
        path
        for folder, ending in (("src", "[ch]"), ("src", "json"), ("python/warpgym", "py"))
        for path in sorted((ROOT / folder).rglob(f"*.{ending}"))
    ]
    assert len(sources) > 500
    found = {
        str(path.relative_to(ROOT))
        for path in sources
        if name.search(path.read_text(encoding="utf-8"))
    }
    assert found == OWN_REASONS
