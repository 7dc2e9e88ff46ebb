"""The runs of each seed, as settings of `warpgym train`, and which of them are compared."""

from dataclasses import dataclass, field

ONE_TURN = {"gym.turns": 1, "train.prompts": 9, "train.samples": 8}
THREE_TURNS = {"gym.turns": 3, "train.prompts": 6, "train.samples": 4}  # as many answers
# The sampler computes with weights of 4 bits; the bounds are those of Dr. Kernel's release.
MISMATCH = ONE_TURN | {"train.sampling_bits": 4}
MRS = {"train.bounds_level": "geometric", "train.bounds_lower": 0.999, "train.bounds_upper": 1.001,
       "train.veto": 1e-4}  # fmt: skip
RETRIEVAL = ONE_TURN | {"gym.retrieve": 1}
# Of kernels by name nothing is known on a CPU: their share pays nothing.
MODULES = {"gym.turns": 1, "train.prompts": 6, "train.samples": 6}
PR = MODULES | {"gym.coverage": "time"}
# A trifle has 0.3 to 0.5 here, so that Dr. Kernel's 0.3 would reject library operators alone.
PRS = {"train.coverage": "turn", "train.coverage_threshold": 0.5, "train.coverage_factor": 0.1}


@dataclass(frozen=True)
class Variant:
    world: str  # of world.py
    settings: dict | None  # None: nothing is trained
    played: dict = field(default_factory=dict)  # settings of the held-out problems' rollout


VARIANTS = {
    "fine-tuned": Variant("native", None),
    "one-turn": Variant("native", ONE_TURN),
    "three-turns": Variant("native", THREE_TURNS),
    "grpo": Variant("native", THREE_TURNS | {"train.method": "grpo"}),
    "mismatch": Variant("native", MISMATCH),
    "mismatch-mrs": Variant("native", MISMATCH | MRS),
    "retrieval": Variant("native", RETRIEVAL, {"gym.retrieve": 1}),
    "lazy-fine-tuned": Variant("modules", None),
    "lazy": Variant("modules", MODULES | {"gym.coverage": "kernels"}),
    "lazy-pr": Variant("modules", PR),
    "lazy-pr-prs": Variant("modules", PR | PRS),
}

ANY, FIRST, OWN = ("any_right", "any_fast"), ("first_right", "first_fast"), ("own", "own_fast")
# Claim, the variant that it favours, the other one, figures of page.py.
CLAIMS = (
    ("TRLOO is better than GRPO (three turns each)", "three-turns", "grpo", ANY),
    ("training over three turns is better than over one", "three-turns", "one-turn", ANY),
    ("under a mismatch of engines, rejection (MRS) helps", "mismatch-mrs", "mismatch", FIRST),
    ("retrieved examples help", "retrieval", "one-turn", FIRST),
    ("paying for own kernels (PR) leads to them", "lazy-pr", "lazy", OWN),
    ("rejecting lazy ones (PRS) beside it leads to more", "lazy-pr-prs", "lazy-pr", OWN),
    ("both are better than neither", "lazy-pr-prs", "lazy", OWN),
)
