"""The mathematics of a training step, for any trainer: docs/guide/rl-library.md.

    from warpgym import rl
    step = rl.step(rewards, prompts, rollouts, turns, trained=…, sampled=…, mask=…, method="grpo")
    loss = -(step.token_advantages * ratio).sum()

The code is what `warpgym train` runs, in build/libwarpgym_rl.so (include/warpgym_rl.h). It needs
NumPy; PyTorch's tensors are taken, and given back, where PyTorch is loaded. Bad input is a
ValueError.
"""

from .library import Setting, facts, names, reward_fields, settings
from .rewards import Loss, Reward, loss, reward, rewards
from .steps import Step, advantages, mismatch, returns, step, token_weights

__all__ = [
    "Loss",
    "Reward",
    "Setting",
    "Step",
    "advantages",
    "facts",
    "loss",
    "mismatch",
    "names",
    "returns",
    "reward",
    "reward_fields",
    "rewards",
    "settings",
    "step",
    "token_weights",
]
