"""The runs of each seed, as settings of `warpgym train`, and which of them are compared."""

ONE_TURN = {"gym.turns": 1, "train.prompts": 9, "train.samples": 8}
THREE_TURNS = {"gym.turns": 3, "train.prompts": 6, "train.samples": 4}  # as many answers
# The sampler computes with weights of 4 bits; the bounds are those of Dr. Kernel's release.
MISMATCH = ONE_TURN | {"train.sampling_bits": 4}
MRS = {"train.bounds_level": "geometric", "train.bounds_lower": 0.999, "train.bounds_upper": 1.001,
       "train.veto": 1e-4}  # fmt: skip
RETRIEVAL = ONE_TURN | {"gym.retrieve": 1}

VARIANTS = {
    "fine-tuned": None,  # nothing is trained
    "one-turn": ONE_TURN,
    "three-turns": THREE_TURNS,
    "grpo": THREE_TURNS | {"train.method": "grpo"},
    "mismatch": MISMATCH,
    "mismatch-mrs": MISMATCH | MRS,
    "retrieval": RETRIEVAL,
}

# Claim, the variant that it favours, the other one, the turns that are played for it.
CLAIMS = (
    ("TRLOO is better than GRPO (three turns each)", "three-turns", "grpo", 3),
    ("training over three turns is better than over one", "three-turns", "one-turn", 3),
    ("under a mismatch of engines, rejection (MRS) helps", "mismatch-mrs", "mismatch", 1),
    ("retrieved examples help", "retrieval", "one-turn", 1),
)


def played(variant):
    """What a variant's held-out problems are played with."""
    settings = VARIANTS[variant] or {}
    return {"gym.retrieve": settings.get("gym.retrieve", 0)}
