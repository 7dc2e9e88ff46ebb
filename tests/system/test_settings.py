"""`warpgym settings`: sources, precedence, and the page in docs/."""

import pytest
from support import ROOT, write


def origin(run, key):
    section, name = key.split(".")
    lines = run.out.splitlines()
    inside = lines[lines.index(f"{section}:") + 1 :]
    (line,) = [line for line in inside if line.startswith(f"  {name}: ")][:1]
    value, _, where = line.partition(" # ")
    return value.partition(": ")[2], where


def test_documentation_is_the_table(warpgym):
    run = warpgym.ok("settings", "--markdown")
    assert run.out == (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8"), (
        "write it again: make generate"
    )


def test_describe_has_every_setting(warpgym):
    table = warpgym("settings", "--markdown").out.splitlines()[2:]
    described = warpgym("settings", "--describe").out
    for row in table:
        assert row.split("`")[1] in described


def test_precedence(warpgym, tmp_path):
    key = "run.timeout_ms"
    assert origin(warpgym("settings"), key) == ("10s", "default")
    file = write(tmp_path / "config" / "warpgym" / "config.yaml", "run:\n  timeout_ms: 4s\n")
    assert origin(warpgym("settings"), key) == ("4s", f"file {file}:2")
    variable = {"WARPGYM_RUN_TIMEOUT_MS": "5000"}
    assert origin(warpgym("settings", environment=variable), key) == (
        "5s",
        "environment WARPGYM_RUN_TIMEOUT_MS",
    )
    run = warpgym("settings", "--set", f"{key}=6500", environment=variable)
    assert origin(run, key) == ("6500ms", "command line")


def test_output_reads_back(warpgym, tmp_path):
    shown = warpgym("settings", "-s", "timing.target=0.05", "-s", 'problems.path=a "b" \\c').out
    file = write(tmp_path / "mine.yaml", shown)
    again = warpgym.ok("settings", environment={"WARPGYM_CONFIG": str(file)})

    def values(text):
        return [line.partition(" # ")[0] for line in text.splitlines()]

    assert values(again.out) == values(shown)


@pytest.mark.parametrize("pair", ["timing.min_samples=10,timing.max_samples=5", "run.threads=-1"])
def test_impossible_settings(warpgym, pair):
    options = [word for one in pair.split(",") for word in ("--set", one)]
    warpgym.refused(pair.split("=")[0], "settings", *options)


def test_a_help_text_rebuilds_one_unit():
    """Rows stand in .c files; their sections' headers reach only the modules that use them."""
    objects = ROOT / "build" / "obj" / "src"
    rules = [path.read_text(encoding="utf-8") for path in objects.rglob("*.d")]
    tables = [
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "src").rglob("*_settings.c")
        if "#define SECTION" in path.read_text(encoding="utf-8")
    ]
    if not rules:
        pytest.skip("no plain build here")
    assert len(tables) >= 11
    for table in tables:
        assert sum(table in rule for rule in rules) == 1, table
        header = table.removesuffix("c") + "h"
        assert sum(header in rule for rule in rules) <= len(rules) / 10, header
