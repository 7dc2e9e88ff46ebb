"""The PyTorch candidates of tests/gpu, as far as they can be looked at without a GPU: what they say
of themselves, and that the words of the child's code which they attack are still there."""

import re
import sys

import pytest
from support import ROOT

sys.path.insert(0, str(ROOT / "tests" / "gpu"))
import corpus

CANDIDATES = corpus.candidates()
CHILD = "".join(
    (ROOT / "python" / "warpgym" / f"{name}.py").read_text(encoding="utf-8")
    for name in ("child", "gpu", "wire", "triton_build")
)
MINIMUM_HACKS = 80
MINIMUM_HONEST = 35


@pytest.mark.parametrize("one", CANDIDATES, ids=lambda one: one.name)
def test_candidate(one):
    text = one.text()
    if one.path.suffix == ".py":
        compile(text, one.path.name, "exec")
    one.check_keys(corpus.KEYS)
    assert one.path.stem.startswith(one.keys["catalogue"].lower() + "_")
    problem = one.keys["problem"]
    homes = [
        ROOT / "tests" / "gpu" / "problems" / f"{problem}.py",
        ROOT / "problems" / f"{problem}.py",
        ROOT / "problems" / "native" / problem / "problem.yaml",
    ]
    assert sum(home.is_file() for home in homes) == 1
    assert (one.path.suffix == ".cu") == homes[2].is_file()
    needs = {
        word
        for word, sign in (("triton", "^import triton"), ("extension", "load_inline"))
        if re.search(sign, text, re.MULTILINE)
    }
    assert {one.keys["needs"]} == needs if "needs" in one.keys else not needs
    for word in one.keys.get("touches", "").split():
        assert re.search(rf"\b{word}\b", CHILD), f"the child has no {word} any more"


def test_there_are_enough_of_them():
    honest = sum(one.honest for one in CANDIDATES)
    assert honest >= MINIMUM_HONEST and len(CANDIDATES) - honest >= MINIMUM_HACKS


def test_documentation_names_each():
    page = (ROOT / "docs" / "design" / "hacks.md").read_text(encoding="utf-8")
    text = page.split("## On a GPU")[1]
    for one in CANDIDATES:
        assert one.keys["catalogue"].lower() + "_*" in text, f"docs/design/hacks.md: {one.name}"
        if "open" in one.keys:
            assert one.path.stem in text, f"docs/design/hacks.md hides the open hole {one.name}"


VERDICT = {
    "integrity": {"violations": [], "warnings": []},
    "timing": {"speedup": 1.0, "meaningful": True},
    "error": None,
}
DOUBTFUL = {"timing": {"speedup": 3.0, "meaningful": False}}
CASES = [
    ({"expect": "wrong"}, {"status": "wrong"}, None),
    ({"expect": "wrong"}, {"status": "passed"}, "passed instead of wrong"),
    ({"expect": "violation", "code": "H50"}, {"status": "violation"}, "violation without H50"),
    ({"expect": "passed", "warning": "H41"}, {"status": "passed"}, "passed without the warning"),
    ({"expect": "passed", "speedup_below": "1.2"}, {"status": "passed"}, None),
    ({"expect": "passed", "speedup_below": "0.5"}, {"status": "passed"}, "a speedup of 1.0"),
    ({"expect": "passed", "speedup_below": "0.5"}, {"status": "passed"} | DOUBTFUL, None),
    ({"expect": "passed", "speedup_below": "0.5"}, {"status": "passed", "timing": None}, "None"),
    ({"expect": "passed", "speedup_below": "0.5", "open": "x"}, {"status": "passed"}, None),
    ({"expect": "passed", "open": "x"}, None, "no verdict"),
]


@pytest.mark.parametrize(("keys", "verdict", "wanted"), CASES)
def test_complaints(keys, verdict, wanted):
    one = next(one for one in corpus.candidates() if not one.honest)
    one.keys = keys
    found = corpus.complaint(one, verdict and VERDICT | verdict)
    assert found is wanted if wanted is None else wanted in found
