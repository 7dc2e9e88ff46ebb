"""The formulas of docs/reference/methods.md and rewards.md in NumPy, one row at a time: what the
library is compared with. Nothing of warpgym is used here."""

import math
from dataclasses import dataclass, field

import numpy as np


@dataclass
class Rows:
    """Rows of rollouts that follow one another; tokens in lists."""

    prompt: list = field(default_factory=list)
    rollout: list = field(default_factory=list)
    turn: list = field(default_factory=list)
    reward: list = field(default_factory=list)
    correct: list = field(default_factory=list)
    speedup: list = field(default_factory=list)
    coverage: list = field(default_factory=list)
    mask: list = field(default_factory=list)
    trained: list = field(default_factory=list)
    sampled: list = field(default_factory=list)
    base: list = field(default_factory=list)
    collision: list = field(default_factory=list)
    value: list = field(default_factory=list)

    def __len__(self):
        return len(self.reward)

    def judged(self, row):
        return not math.isnan(self.reward[row])

    def rollouts(self):
        return [
            [row for row in range(len(self)) if self.rollout[row] == one]
            for one in dict.fromkeys(self.rollout)
        ]

    def counted(self, row):
        """Numbers of the row's tokens that count."""
        return np.flatnonzero(self.mask[row])

    def log_ratios(self, rows):
        return np.concatenate(
            [(self.trained[row] - self.sampled[row])[self.counted(row)] for row in rows]
        )


def draw(seed, prompts=3, rollouts=4, turns=3, unjudged=0.1):
    random = np.random.default_rng(seed)
    rows = Rows()
    for number in range(prompts * rollouts):
        for turn in range(random.integers(1, turns + 1)):
            reward = 0.25 * random.integers(0, 8)
            rows.prompt.append(40 + number // rollouts)
            rows.rollout.append(number)
            rows.turn.append(turn)
            rows.reward.append(math.nan if random.random() < unjudged else reward)
            rows.correct.append(bool(reward > 0.25))
            rows.speedup.append(3.5 * random.random() if reward > 0.5 else math.nan)
            rows.coverage.append(random.random() if random.random() < 0.8 else math.nan)
            tokens = random.integers(1, 6)
            rows.mask.append(random.random(tokens) < 0.8)
            sampled = (-2 * random.random(tokens)).astype(np.float32)
            near = (0.4 * random.random(tokens) - 0.2).astype(np.float32)
            rows.sampled.append(sampled)
            rows.trained.append(np.minimum(sampled + near, np.float32(-0.01)))
            rows.base.append((sampled - 0.3 * random.random(tokens)).astype(np.float32))
            likely = np.exp(rows.trained[-1].astype(float))
            others = (1 - likely) ** 2 * random.random(tokens)
            rows.collision.append((likely**2 + others).astype(np.float32))
            rows.value.append(random.random(tokens).astype(np.float32))
    return rows


# Returns


def _shaped(rewards, shaping, gamma):
    rewards = list(rewards)
    if shaping == "residual_unbiased" and rewards:
        rewards[-1] *= 1 - gamma
    if shaping == "none":
        return rewards
    return list(np.diff(rewards, prepend=0))


def _sum(rewards, gamma):
    return [
        sum(gamma ** (later - now) * rewards[later] for later in range(now, len(rewards)))
        for now in range(len(rewards))
    ]


RETURNS = {
    "sum": _sum,
    "max": lambda rewards, gamma: [
        max(gamma ** (later - now) * rewards[later] for later in range(now, len(rewards)))
        for now in range(len(rewards))
    ],
    "final": lambda rewards, gamma: _sum([0] * (len(rewards) - 1) + list(rewards[-1:]), gamma),
    "turn": lambda rewards, gamma: list(rewards),
    "episode": lambda rewards, gamma: _sum(rewards, gamma)[:1] * len(rewards),
    "kernel_rl": lambda rewards, gamma: [sum(_sum(rewards, gamma))] * len(rewards),
}
SHAPINGS = ("none", "residual", "residual_unbiased")


def returns(rows, rule="sum", gamma=1.0, shaping="none"):
    """NaN where nothing was judged: what the library has there is of no use."""
    found = np.full(len(rows), np.nan)
    for rollout in rows.rollouts():
        judged = [row for row in rollout if rows.judged(row)]
        rewards = _shaped([rows.reward[row] for row in judged], shaping, gamma)
        found[judged] = RETURNS[rule](rewards, gamma)
    return found


# Advantages


def _turn(rows, row):
    return rows.prompt[row], rows.turn[row]


def _prompt(rows, row):
    return rows.prompt[row]


def _batch(rows, row):
    return 0


def _grouped(rows, members, key):
    groups = {}
    for row in members:
        groups.setdefault(key(rows, row), []).append(row)
    return groups.values()


def _others(values, at):
    return np.delete(values, at)


def _loo(rows, group, values):
    return [value - _others(values, i).mean() for i, value in enumerate(values)]


def _centred(rows, group, values):
    return values - values.mean()


def _standard(rows, group, values):
    return (values - values.mean()) / (values.std(ddof=1) + 1e-6)


def _loo_standard(rows, group, values):
    def scale(others):
        return 1 if len(others) == 1 else others.std(ddof=1) + 1e-8

    return [
        (value - _others(values, i).mean()) / scale(_others(values, i))
        for i, value in enumerate(values)
    ]


def _plain(rows, group, values):
    return values


def energies(rows, span, kind="scores"):
    """Of each token, the sum up to it: of its turn, or of its rollout's turns so far."""
    found = []
    for row in range(len(rows)):
        probability = np.exp(rows.trained[row].astype(float))
        own = {
            "scores": 1 - 2 * probability + rows.collision[row],
            "tokens": np.ones(len(probability)),
            "rows": np.full(len(probability), 1 / max(rows.mask[row].sum(), 1)),
        }[kind]
        path = np.cumsum(np.where(rows.mask[row] & rows.judged(row), own, 0.0))
        later = span != "turn" and row > 0 and rows.rollout[row] == rows.rollout[row - 1]
        found.append(path + (found[-1][-1] if later else 0.0))
    return found


def _optimal(span):
    def formula(rows, group, values):
        paths = energies(rows, span)
        ends = {row: paths[row][-1] for row in range(len(rows))}
        if span == "rollout":
            last = {rows.rollout[row]: paths[row][-1] for row in range(len(rows))}
            ends = {row: last[rows.rollout[row]] for row in ends}
        energy = np.array([ends[row] for row in group])
        return values - ((energy * values).sum() / energy.sum() if energy.sum() else values.mean())

    return formula


def _positions(span):
    def formula(rows, group, values):
        paths = energies(rows, span)
        found = [
            np.full(len(rows.mask[row]), value) for row, value in zip(group, values, strict=True)
        ]
        for place in range(max(len(rows.mask[row]) for row in group)):
            there = [i for i, row in enumerate(group) if place < len(rows.mask[row])]
            counted = [i for i in there if rows.mask[group[i]][place]]
            weight = np.array([paths[group[i]][place] for i in counted])
            baseline = (weight * values[counted]).sum() / weight.sum() if counted else 0
            for i in counted:
                found[i][place] -= baseline
        for i, row in enumerate(group):
            found[i] = found[i] if rows.mask[row].any() else np.zeros(len(found[i]))
        return found

    return formula


def _critic(rows, group, values, gamma=1.0, decay=1.0):
    found = []
    for row, value in zip(group, values, strict=True):
        at = rows.counted(row)
        own = np.full(len(rows.mask[row]), float(value))
        v = rows.value[row].astype(float)[at]
        delta = gamma * np.append(v[1:], 0) - v
        if len(at):
            delta[-1] += value
        for i in range(len(at)):
            own[at[i]] = sum((gamma * decay) ** (j - i) * delta[j] for j in range(i, len(at)))
        found.append(own)
    return found


# What is measured, its groups, how, and whether all tokens are whitened then. first, last: of each
# rollout once, at its last judged turn, for all its turns.
ESTIMATORS = {
    "trloo": ("return", _turn, _loo, False),
    "grpo": ("return", _turn, _centred, False),
    "grpo_std": ("return", _turn, _standard, False),
    "turn_independent_grpo": ("reward", _prompt, _centred, False),
    "erloo": ("return", _prompt, _loo, False),
    "erloo_norm": ("return", _prompt, _loo_standard, False),
    "reinforce": ("return", _batch, _standard, False),
    "egae": ("return", _batch, _critic, True),
    "return": ("return", _batch, _plain, False),
    "turn_optimal_baseline": ("return", _turn, _optimal("so_far"), False),
    "optimal_baseline": ("first", _prompt, _optimal("rollout"), False),
    "token_optimal_baseline": ("return", _turn, _positions("so_far"), False),
    "optimal_baseline_step": ("last", _prompt, _positions("turn"), False),
    "turn_score_baseline": ("return", _turn, _optimal("turn"), False),
    "score_baseline": ("return", _prompt, _optimal("turn"), False),
    "rloo": ("last", _prompt, _loo, False),
    "remax": ("last", _batch, _plain, False),
    "grpo_last": ("last", _prompt, _centred, False),
    "grpo_std_last": ("last", _prompt, _standard, False),
    "reinforce_plus_plus": ("last", _batch, _plain, True),
    "reinforce_plus_plus_baseline": ("last", _prompt, _centred, True),
    "gae": ("last", _batch, _critic, True),
}


def _mean(rows, row, own):
    at = rows.counted(row)
    return own[at].mean() if len(at) else own[0]


def advantages(rows, estimator, gamma=1.0):
    """Of each token, in lists, and of each row, the mean; rows without tokens that count as if all
    did."""
    what, key, formula, whitens = ESTIMATORS[estimator]
    values = np.array(rows.reward) if what == "reward" else returns(rows, gamma=gamma)
    judged = [[row for row in rollout if rows.judged(row)] for rollout in rows.rollouts()]
    judged = [rollout for rollout in judged if rollout]
    once = what in ("first", "last")
    members = [row for rollout in judged for row in (rollout[-1:] if once else rollout)]
    if what == "first":
        for rollout in judged:
            values[rollout[-1]] = values[rollout[0]]
    tokens = [np.zeros(len(mask)) for mask in rows.mask]
    for group in _grouped(rows, members, key):
        own = values[group]
        if len(group) > 1 or formula is _critic:
            own = formula(rows, group, own)
        for row, one in zip(group, own, strict=True):
            tokens[row] = np.broadcast_to(one, len(rows.mask[row])).astype(float)
    if whitens:
        all_tokens = np.concatenate([tokens[row][rows.counted(row)] for row in members])
        if len(all_tokens) > 1:
            scale = math.sqrt(all_tokens.var(ddof=1) + 1e-8)
            for row in members:
                tokens[row] = (tokens[row] - all_tokens.mean()) / scale
    found = np.array([_mean(rows, row, tokens[row]) for row in range(len(rows))])
    for rollout in judged if once else ():
        found[rollout] = found[rollout[-1]]
        for row in rollout[:-1]:
            tokens[row][:] = found[row]
    return tokens, found


def reweighed(rows, found, kind, energy="scores"):
    """Advantages of rows that all count."""
    weight = np.array([path[-1] for path in energies(rows, "turn", energy)])
    root = np.sqrt(weight + 1e-8)
    factor = np.ones(len(rows))
    if kind in ("prompts", "both"):
        inverse = {}
        for group in _grouped(rows, range(len(rows)), _prompt):
            a, w, r = found[group], weight[group], root[group]
            spread = ((a * a * w).mean() - (a * r).mean() ** 2) / (len(group) - 1)
            inverse[rows.prompt[group[0]]] = 1 / (spread + 1e-8)
        total = sum(inverse.values())
        factor *= [len(inverse) * inverse[prompt] / total for prompt in rows.prompt]
    if kind in ("batch", "both"):
        energy_all = (found**2 * weight).mean()
        variance = energy_all - (found * root).mean() ** 2
        factor *= weight / (weight.mean() + 1e-8) * energy_all / (energy_all + variance + 1e-8)
    return found * factor


# Mismatch

LEVELS = {
    "token": (False, None),
    "turn": ("row", np.sum),
    "turn_geo": ("row", np.mean),
    "sequence": ("rollout", np.sum),
    "geometric": ("rollout", np.mean),
}


def _exp(value):
    return np.exp(np.clip(value, -20, 20))


def ratios(rows, level):
    """Of each token, in lists; 1 where none counts."""
    found = [np.ones(len(mask)) for mask in rows.mask]
    judged = [[row for row in rollout if rows.judged(row)] for rollout in rows.rollouts()]
    unit, reduce = LEVELS.get(level, (None, None))
    if level == "none":
        return found
    units = judged if unit == "rollout" else [[row] for rollout in judged for row in rollout]
    for members in units:
        values = rows.log_ratios(members) if members else []
        for row in members:
            at = rows.counted(row)
            own = (rows.trained[row] - rows.sampled[row])[at]
            if len(values):
                found[row][at] = _exp(own) if level == "token" else _exp(reduce(values))
    return found


def rejected(rows, level, lower, upper, veto, *, whole_rollout=False):
    """Reasons of each row, and which tokens are left."""
    reasons = [set() for _ in range(len(rows))]
    kept = [mask.copy() for mask in rows.mask]
    ratio = ratios(rows, level)
    for row in range(len(rows)):
        if not rows.judged(row):
            reasons[row].add("excluded")
            continue
        at = rows.counted(row)
        inside = (ratio[row] >= lower) & (ratio[row] <= upper)
        if level == "token":
            kept[row] &= inside | ~rows.mask[row]
        elif level != "none" and len(at) and not inside[at].all():
            reasons[row].add("mismatch")
        if veto > 0 and (rows.log_ratios([row]) < math.log(veto)).any():
            reasons[row].add("veto")
    for rollout in rows.rollouts():
        units = [row for row in rollout if LEVELS.get(level, (None,))[0] == "rollout"]
        if any("mismatch" in reasons[row] for row in units):
            for row in units:
                reasons[row].add("mismatch")
        if whole_rollout and any("veto" in reasons[row] for row in rollout):
            for row in rollout:
                reasons[row].add("veto")
    return reasons, kept


def importance(rows, level, upper):
    found = ratios(rows, level)
    for row in range(len(rows)):
        if upper > 0:
            found[row] = np.minimum(found[row], upper)
        counts = rows.mask[row] & rows.judged(row)
        found[row] = np.where(counts, found[row], 0)
    return found


def _ratio_metrics(rows, judged, ratio, *, lower, upper, units):
    per_token = np.concatenate([ratio[row][rows.counted(row)] for row in judged])
    per_row = np.array([ratio[row][rows.counted(row)].mean() for row in judged])
    clamped = np.clip(per_token, lower, upper)
    counted = per_row if units else per_token
    return {
        "mean": per_token.mean(),
        "max": per_token.max(),
        "min": per_token.min(),
        "std": clamped.std(),
        "eff_sample_size": 1 / ((clamped / clamped.mean()) ** 2).mean(),
        "ratio_fraction_high": (counted > upper).mean(),
        "ratio_fraction_low": (counted < lower).mean(),
        "seq_mean": per_row.mean(),
        "seq_std": per_row.std(ddof=1),
        "seq_max": per_row.max(),
        "seq_min": per_row.min(),
        "seq_max_deviation": abs(per_row - 1).max(),
        "seq_fraction_high": (per_row > upper).mean(),
        "seq_fraction_low": (per_row < lower).mean(),
    }


def mismatch_metrics(rows, level, bounds, weights=("none", 0)):
    """bounds: lower, upper, veto; weights: level and upper bound of importance weights."""
    lower, upper, veto = bounds
    judged = [row for row in range(len(rows)) if rows.judged(row) and len(rows.counted(row))]
    diff = rows.log_ratios(judged).astype(float)
    ratio = ratios(rows, level)
    per_token = np.concatenate([ratio[row][rows.counted(row)] for row in judged])
    trained = np.array([rows.trained[row][rows.counted(row)].mean(dtype=float) for row in judged])
    sampled = np.array([rows.sampled[row][rows.counted(row)].mean(dtype=float) for row in judged])
    sums = np.array([rows.log_ratios([row]).sum(dtype=float) for row in judged])
    off = sampled - trained
    vetoed = [veto > 0 and (rows.log_ratios([row]) < math.log(veto)).any() for row in judged]
    outside = (per_token < lower) | (per_token > upper) if level != "none" else per_token < 0
    owner = np.repeat(np.arange(len(judged)), [len(rows.counted(row)) for row in judged])
    found = {
        "mismatch_kl": -diff.mean(),
        "mismatch_k3_kl": (np.exp(diff) - diff - 1).mean(),
        "mismatch_training_ppl": np.exp(-trained).mean(),
        "mismatch_training_log_ppl": -trained.mean(),
        "mismatch_rollout_ppl": np.exp(-sampled).mean(),
        "mismatch_rollout_log_ppl": -sampled.mean(),
        "mismatch_log_ppl_diff": off.mean(),
        "mismatch_log_ppl_abs_diff": abs(off).mean(),
        "mismatch_log_ppl_diff_max": off.max(),
        "mismatch_log_ppl_diff_min": off.min(),
        "mismatch_ppl_ratio": np.exp(off).mean(),
        "mismatch_chi2_token": np.exp(2 * diff).mean() - 1,
        "mismatch_chi2_seq": np.exp(2 * sums).mean() - 1,
        "rollout_rs_masked_fraction": outside.mean(),
        "rollout_rs_seq_masked_fraction": np.mean(
            [outside[owner == i].any() for i in range(len(judged))]
        ),
        "rollout_is_veto_fraction": np.mean(vetoed),
        "rollout_is_catastrophic_token_fraction": (diff < math.log(veto)).mean() if veto else 0,
    }
    whole = ("turn", "sequence")
    of_bounds = _ratio_metrics(rows, judged, ratio, lower=lower, upper=upper, units=level in whole)
    kind, most = weights
    least = 1 / most if most else 0
    of_weights = _ratio_metrics(
        rows,
        judged,
        ratios(rows, kind),
        lower=least,
        upper=most or math.inf,
        units=kind in whole,
    )
    found |= {f"rollout_rs_{name}": value for name, value in of_bounds.items()}
    return found | {f"rollout_is_{name}": value for name, value in of_weights.items()}


FAST = {"fast_1": 1, "fast_1.2": 1.2, "fast_1.5": 1.5, "fast_2": 2, "fast_3": 3}


def quality_metrics(rows, reasons):
    """Of rows rejected for mismatch and of others; shares without a denominator are absent."""
    judged = [row for row in range(len(rows)) if rows.judged(row)]
    masked = [row for row in judged if reasons[row] & {"mismatch", "veto"}]
    kept = [row for row in judged if row not in masked]
    timed = {row for row in judged if rows.correct[row] and rows.speedup[row] > 0}
    classes = {"incorrect": [row for row in judged if not rows.correct[row]]}
    classes["correct"] = [row for row in judged if rows.correct[row]]
    classes |= {
        name: [row for row in timed if rows.speedup[row] >= least] for name, least in FAST.items()
    }
    found = {}
    for kind, members in {"masked": masked, "kept": kept}.items():
        found[f"{kind}_count"] = len(members)
        speedups = [rows.speedup[row] for row in members if row in timed]
        if members:
            found[f"{kind}_correct_rate"] = np.mean([rows.correct[row] for row in members])
            for name in FAST:
                found[f"{kind}_{name}"] = np.mean([row in classes[name] for row in members])
        if speedups:
            found[f"{kind}_mean_speedup"] = np.mean(speedups)
    for name, members in classes.items():
        if members:
            found[f"mask_rate_{name}"] = np.mean([row in masked for row in members])
    return found


# Coverage


def keep_probability(share, threshold, factor):
    """Of a correct answer whose share is known."""
    if factor == 0:
        return float(share >= threshold)
    return min(max((share - threshold) / factor, 0.0), 1.0)


# Tokens

AGGREGATIONS = {
    "token-mean": lambda rows, own, all_tokens, longest: 1 / all_tokens,
    "seq-mean-token-sum": lambda rows, own, all_tokens, longest: 1 / rows,
    "seq-mean-token-mean": lambda rows, own, all_tokens, longest: 1 / (rows * own),
    "seq-mean-token-sum-norm": lambda rows, own, all_tokens, longest: 1 / (rows * longest),
    "seq-sum-no-norm": lambda rows, own, all_tokens, longest: 1.0,
}


def token_weights(masks, aggregation, *, scale=1.0, nominal_rows=0, nominal_tokens=0, pad_rows=0):
    own = [int(mask.sum()) for mask in masks]
    there = [row for row, count in enumerate(own) if count]
    copies = dict.fromkeys(there, 1)
    padding = (-len(there)) % pad_rows if pad_rows else 0
    for number in range(padding):
        copies[there[number % len(there)]] += 1
    rows = nominal_rows or len(there) + padding
    total = sum(own[row] * copies[row] for row in there)
    longest = nominal_tokens or max(own)
    found = []
    for row, mask in enumerate(masks):
        each = 0.0
        if own[row]:
            each = AGGREGATIONS[aggregation](rows, own[row], total, longest) * copies[row] / scale
        found.append(np.where(mask, each, 0.0))
    return found


# Losses


def _ppo(p, q, a, *, low, high, dual):
    r = math.exp(p - q)
    value = min(r * a, min(max(r, low), high) * a)
    moves = value == r * a
    if a < 0 and dual and value < dual * a:
        return -dual * a, 0.0
    return -value, -r * a if moves else 0.0


def _cispo(p, q, a, low, high):
    weight = min(max(math.exp(p - q), low), high)
    return -weight * p * a, -weight * a


# (value, d value / d p) of one token: p trained, q sampled, a advantage, w weight.
LOSSES = {
    "importance_sampling": lambda p, q, a, w, o: (-math.exp(p - q) * a, -math.exp(p - q) * a),
    "ppo": lambda p, q, a, w, o: _ppo(
        p,
        q,
        a,
        low=o.get("clip_low", 0.8),
        high=o.get("clip_high", 1.2),
        dual=o.get("dual_clip", 0),
    ),
    "cispo": lambda p, q, a, w, o: _cispo(p, q, a, o.get("clip_low", 0), o.get("clip_high", 4)),
    "dro": lambda p, q, a, w, o: (
        -p * a + w * o.get("dro_beta", 0.05) / 2 * (p - q) ** 2,
        -a + w * o.get("dro_beta", 0.05) * (p - q),
    ),
}


# Rewards


def _gated(facts, total):
    return total if not facts["cheated"] and facts["format_ok"] else 0.0


def _speed(facts, base, most, low=False):
    speedup = facts["speedup_low"] if low else facts["speedup"]
    if not facts["correct"] or math.isnan(speedup) or speedup <= base:
        return 0.0
    return min(speedup - base, most)


def _partial(facts):
    if facts["correct"]:
        return 1.0
    if not facts["compiled"] or not facts["tests_total"]:
        return 0.0
    return facts["tests_passed"] / facts["tests_total"]


def _ran(facts, total):
    return total if facts["completed"] and facts["compiled"] and not facts["cheated"] else 0.0


def _if_known(value):
    return 0.0 if math.isnan(value) else value


def _ladder(facts):
    if not facts["completed"] or facts["cheated"]:
        return -1.0
    if not facts["compiled"]:
        return -0.5
    if not facts["correct"]:
        return -0.3
    rungs = ((3, 1.0), (2, 0.8), (1.5, 0.6), (1.2, 0.4), (1, 0.2))
    return next((reward for least, reward in rungs if facts["speedup"] >= least), -0.1)


def _clipped(facts, weight):
    share = _if_known(facts["coverage"])
    return weight * (1 + min(_if_known(facts["speedup"]), 3) + share) if facts["correct"] else 0.0


REWARDS = {
    "warpgym": lambda f: _gated(f, f["correct"] * 0.3 + _speed(f, 0, math.inf, low=True)),
    "kevin": lambda f: _gated(f, f["correct"] * 0.3 + _speed(f, 0, math.inf)),
    "kernel_rl": lambda f: _gated(f, f["correct"] * 0.3 + _speed(f, 1, 10)),
    "staged1": lambda f: _gated(f, 0.3 + 0.5 * f["compiled"] + 0.2 * _partial(f)),
    "staged2": lambda f: _gated(f, 0.1 + 0.2 * f["compiled"] + 0.7 * _partial(f)),
    "staged3": lambda f: _gated(
        f, 0.05 + 0.1 * f["compiled"] + 0.5 * f["correct"] + 0.35 * _speed(f, 1, 10)
    ),
    "sparse": lambda f: _gated(f, f["correct"] * (1 + 0.5 * _speed(f, 1, 10))),
    "drkernel": lambda f: _ran(f, _clipped(f, 0.5)),
    "drkernel_paper": lambda f: _ran(f, _clipped(f, 1)),
    "drkernel_weighted": lambda f: _ran(
        f, f["correct"] * (0.5 + 0.5 * (_if_known(f["speedup"]) >= 1.01))
    ),
    "drkernel_like_kernel": _ladder,
}
