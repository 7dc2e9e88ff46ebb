"""The step of python/warpgym/verl_trainer.py, on batches of the test, as verl_agent_checks.py has
them. tests/system/test_verl_real.py runs it."""

import pytest

pytest.importorskip("transfer_queue")

import numpy as np  # noqa: E402
import torch  # noqa: E402
from verl.trainer.ppo.ray_trainer import compute_advantage  # noqa: E402
from verl_agent_checks import batch  # noqa: E402
from warpgym import rl  # noqa: E402
from warpgym.verl_trainer import train_step  # noqa: E402

# Geometric mean of a turn's ratios, and its coverage.
MRS = {"bounds_level": "turn_geo", "bounds_lower": 0.99, "bounds_upper": 1.01}


def test_rejection_by_turns():
    """MRS by its formula, PRS by the library: a random batch."""
    data, turns, groups = batch(np.random.default_rng(5))
    mask, scores = data.batch["response_mask"], data.batch["token_level_rewards"]
    generator = torch.Generator().manual_seed(3)
    sampled = -torch.rand(mask.shape, generator=generator)
    trained = sampled + 0.03 * torch.randn(mask.shape, generator=generator)
    random = np.random.default_rng(6)
    facts = [[] for _ in groups]
    for row, *_ in turns:
        known = {"correct": 1.0, "speedup": 1.5, "coverage": float(random.random())}
        facts[row].append(known)
    settings = {"estimator": "trloo", "filter": "none"} | MRS
    kept, advantages, _, metrics = train_step(
        mask, scores, groups, facts, trained=trained, sampled=sampled, **settings
    )
    dropped = 0
    for row, begin, end, _ in turns:
        ratio = (trained - sampled)[row, begin:end].mean().exp().item()
        inside = MRS["bounds_lower"] <= ratio <= MRS["bounds_upper"]
        assert kept[row, begin:end].sum() == (end - begin if inside else 0)
        dropped += not inside
    assert 5 < dropped < len(turns) - 5
    assert (advantages[kept == 0] == 0).all() and metrics["warpgym/drop/mismatch"] > 0
    # PRS draws by seed and step, as the library alone does.
    prs = {"coverage": "turn", "filter": "none", "estimator": "trloo", "seed": 9, "step": 4}
    kept, advantages, _, metrics = train_step(
        mask, scores, groups, facts, trained=trained, sampled=sampled, **prs
    )
    seen = [0] * len(groups)
    coverages = []
    for row, *_ in turns:
        coverages.append(facts[row][seen[row]]["coverage"])
        seen[row] += 1
    direct = rl.step(
        [one[3] for one in turns], [groups[one[0]] for one in turns], [one[0] for one in turns],
        correct=[True] * len(turns), speedups=[1.5] * len(turns), coverages=coverages, **prs,
    )  # fmt: skip
    for i, (row, begin, end, _) in enumerate(turns):
        assert bool(kept[row, begin]) == (direct.drop[i] == 0)
        assert advantages[row, begin:end].numpy() == pytest.approx(direct.advantages[i], abs=1e-5)
    assert metrics["warpgym/drop/coverage"] > 0


@pytest.mark.parametrize("name", ["trloo", "grpo", "egae", "rloo"])
def test_a_step_that_rejects_nothing_has_verls_advantages(name):
    data, _, groups = batch(np.random.default_rng(7))
    mask, scores = data.batch["response_mask"], data.batch["token_level_rewards"]
    settings = {"estimator": name, "gamma": 0.4, "filter": "none"}
    kept, advantages, _, _ = train_step(mask, scores, groups, [[] for _ in groups], **settings)
    compute_advantage(data, "warpgym_" + name, config={"gamma": 0.4})
    assert torch.equal(kept, mask)
    assert torch.allclose(advantages, data.batch["advantages"], atol=1e-6)
