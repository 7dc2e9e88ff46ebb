"""PyTorch candidates on a real GPU: `make test-gpu`. All are judged in one batch; each is then a
test of its own, and what was unexpected stands in a table at the end."""

import json

import corpus
import pytest

REASON = corpus.why_not("python", "no Python with PyTorch")
pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))
CANDIDATES = corpus.candidates()


@pytest.fixture(scope="module")
def verdicts():
    found = corpus.judge(CANDIDATES)
    corpus.TABLE[:] = corpus.table(CANDIDATES, found)
    return found


@pytest.mark.parametrize("one", CANDIDATES, ids=lambda one: one.name)
def test_candidate(one, verdicts):
    verdict = verdicts.get(one.path)
    if corpus.without_its_needs(one, verdict):
        pytest.skip(verdict["error"]["message"])
    found = corpus.complaint(one, verdict)
    assert found is None, f"{found}\n{json.dumps(verdict, indent=1)}"


def test_judge_survives(verdicts):
    """None of them costs the judge its life or spoils it for the next one."""
    bad = ("infrastructure_error", "cancelled")
    assert [path.stem for path, one in verdicts.items() if one["status"] in bad] == []


MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")


@pytest.mark.parametrize("mode", MODES)
def test_compiled_reference(mode):
    """A reference of torch.compile's is opened, timed and agreed with, in each mode."""
    eager = next(one for one in CANDIDATES if one.name == "honest/h54_collects_garbage")
    verdict = corpus.judge([eager], {"torch.compile": mode}).get(eager.path)
    assert verdict, "no verdict"
    assert verdict["status"] == "passed", json.dumps(verdict, indent=1)
