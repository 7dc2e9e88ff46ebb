"""Links between the repository's Markdown files: every target exists, every anchor is a heading."""

import re
import subprocess
import sys

import pytest
import verdicts
from support import ROOT, captured

LINK = re.compile(r"!?\[[^\]]*\]\(([^()\s]+)\)")
CODE = re.compile(r"^ *```.*?^ *```|`[^`\n]+`", re.MULTILINE | re.DOTALL)


def pages():
    listed = captured(["git", "ls-files", "*.md"], cwd=ROOT)
    if listed.returncode == 0:
        return [ROOT / name for name in listed.stdout.split() if (ROOT / name).is_file()]
    folders = ("docs", "demo", "examples", "tests", "deploy", "problems", "prompts")
    return [
        *ROOT.glob("*.md"),
        *(page for name in folders for page in ROOT.glob(f"{name}/**/*.md")),
    ]


def anchors(page):
    """As GitHub makes them: lower case, no punctuation, hyphens for blanks, repeats numbered."""
    found = {}
    text = re.sub(
        r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    for title in re.findall(r"^#+ +(.*?)\s*$", text, re.MULTILINE):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).lower()
        name = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        count = found.get(name, 0)
        found[name] = count + 1
        yield f"{name}-{count}" if count else name


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    broken = []
    for target in LINK.findall(CODE.sub("", page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            broken.append(target)
    assert not broken


def test_the_index_leads_to_every_page():
    index = ROOT / "docs" / "README.md"
    linked = {
        (index.parent / target.partition("#")[0]).resolve()
        for target in LINK.findall(index.read_text(encoding="utf-8"))
    }
    missing = [
        str(page) for page in (ROOT / "docs").glob("**/*.md") if page not in linked | {index}
    ]
    assert not missing


# Fields of verdicts, functions and files that look like settings.
NOT_SETTINGS = {f"timing.{key}" for key in verdicts.SCHEMA["$defs"]["VerdictTiming"]["properties"]}
NOT_SETTINGS |= {"torch.relu", "torch.sigmoid"}
FILE_ENDINGS = {
    *("c", "h", "py", "md", "json", "jsonl", "yaml", "db", "log", "sh", "html", "csv", "parquet")
}


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_settings_in_prose_exist(page):
    table = (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
    known = set(re.findall(r"^\| `([a-z_]+\.[a-z_]+)`", table, re.MULTILINE))
    sections = {name.partition(".")[0] for name in known}
    text = page.read_text(encoding="utf-8")
    named = set(re.findall(r"(?<![\w./-])([a-z_]+\.[a-z_]+)(?=[=`,; ])", text))
    assert not [
        name
        for name in sorted(named - known - NOT_SETTINGS)
        if name.partition(".")[0] in sections and name.partition(".")[2] not in FILE_ENDINGS
    ]


def test_commands_page_is_the_help():
    made = subprocess.run(
        [sys.executable, ROOT / "scripts" / "docs-commands"],
        capture_output=True,
        text=True,
        check=True,
    )
    page = ROOT / "docs" / "reference" / "commands.md"
    assert made.stdout == page.read_text(encoding="utf-8"), (
        "write it again: make generate"
    )


def literals():
    """The text of all string literals of the sources, adjacent ones joined."""
    parts = []
    for source in [*ROOT.glob("src/**/*.[ch]"), *ROOT.glob("python/warpgym/**/*.py")]:
        text = re.sub(r'"\s*(?:PRI\w+\s*)?"', "", source.read_text(encoding="utf-8"))
        parts.append(text.replace('\\"', '"'))
    return "\n".join(parts)


def symptoms():
    page = (ROOT / "docs" / "guide" / "troubleshooting.md").read_text(encoding="utf-8")
    for row in re.findall(r"^\| (.*?) \|", page, re.MULTILINE):
        for message in re.findall(r"`([^`]*)`", row):
            parts = message.split("…") if " " in message else []
            yield from (part.strip() for part in parts if len(part.strip()) > 8)


def test_symptoms_are_messages_of_the_sources():
    text = literals()
    assert not [part for part in symptoms() if part not in text]
