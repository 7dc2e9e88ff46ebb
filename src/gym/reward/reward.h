/* reward: the reward of an answer.
 *
 * Components, as in kernel_rl's and Dr. Kernel's training code, each a pure function of the facts
 * below; presets are rows of weights and a rule for combining the components
 * (docs/reference/rewards.md has every formula, its source, and each corrected defect).
 *
 *   warpgym    Kevin's with the lower bound of the speedup's interval: chance earns nothing
 *   kevin      0.3 correct + speedup (Kevin, arXiv 2507.11948)
 *   kernel_rl  0.3 correct + (speedup - 1), at most 10: kernel_rl's `default`
 *   staged1, staged2, staged3   kernel_rl's stage1 to stage3, without their gate
 *   sparse     kernel_rl's: nothing unless correct
 *   drkernel   0.5 correct + 0.5 min(speedup, 3) + 0.5 coverage (release of Dr. Kernel)
 *   drkernel_paper, drkernel_weighted, drkernel_like_kernel
 *
 * An infrastructure_error, cancelled or unsupported verdict has no reward: `excluded`.
 * Ownership: names are static. Threads: pure.
 */
#pragma once

#include "base/err.h"
#include "gym/reward/coverage.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct parsed;

struct reward_facts {
    bool format_ok, compiled, correct;
    bool completed; /* KernelGYM's term: it loaded, kept to its time and broke no rule */
    bool cheated;   /* a violation */
    bool excluded;  /* it says nothing about the candidate */
    bool gameable;  /* so may the problem be solved without the work (problem_audit) */
    int64_t tests_passed, tests_total;
    double speedup;     /* reference / candidate; NaN: not measured */
    double speedup_low; /* lower bound of its 95 % interval; NaN: likewise */
    double coverage;    /* 0 to 1, by the configured measure; NaN: unknown */
    size_t code_chars, thought_chars;
};

/* `verdict` NULL: nothing was evaluated, because there was no code; if `parsed` has code, its value
 * is unknown (excluded). `parsed` NULL: only the candidate is known, not the answer. */
void reward_facts_read(const struct verdict *verdict, const struct parsed *parsed,
                       enum coverage_measure coverage, struct reward_facts *facts);

/* X(field, standard): all doubles. Those that end in _weight are not negative; partial_correctness
 * and gate_on_correctness are 0 or 1; speed_max_reward 0: no bound. */
#define REWARD_FIELDS(X)                                                                           \
    X(format_weight, 0)                                                                            \
    X(compile_weight, 0)                                                                           \
    X(correctness_weight, 0.3)                                                                     \
    X(speed_weight, 1)                                                                             \
    X(length_weight, 0)                                                                            \
    X(thinking_weight, 0)                                                                          \
    X(coverage_weight, 0)                                                                          \
    X(cheating_penalty, 0)                                                                         \
    X(format_penalty, 0)                                                                           \
    X(failure_penalty, 0)                                                                          \
    X(compile_penalty, 0)                                                                          \
    X(wrong_penalty, 0)                                                                            \
    X(slow_penalty, 0)                                                                             \
    X(speed_baseline, 1)                                                                           \
    X(speed_scale, 1)                                                                              \
    X(speed_max_reward, 10)                                                                        \
    X(speed_lower, 0)                                                                              \
    X(speed_upper, 3)                                                                              \
    X(speed_epsilon, 0.01)                                                                         \
    X(length_min, 500)                                                                             \
    X(length_max, 8000)                                                                            \
    X(thinking_bonus, 1)                                                                           \
    X(thinking_no_think, 0.5)                                                                      \
    X(thinking_soft_max, 2000)                                                                     \
    X(thinking_hard_max, 4000)                                                                     \
    X(thinking_floor, 0.7)                                                                         \
    X(gameable_factor, 1)                                                                          \
    X(speed_by_lower_bound, 0)                                                                     \
    X(partial_correctness, 0)                                                                      \
    X(gate_on_correctness, 1)

struct reward_config {
    const char *preset; /* its name */
    int rule;           /* reward.c's: how components add up */
#define X(field, standard) double field;
    REWARD_FIELDS(X)
#undef X
};

/* ERR_INPUT with the nearest name. */
NODISCARD int reward_preset(const char *name, struct reward_config *config, struct err *err);
/* A preset's name, or {"preset": NAME, FIELD: number, ...}. ERR_INPUT. */
NODISCARD int reward_config_read(const json_t *value, struct reward_config *config,
                                 struct err *err);
extern const struct word_table reward_words; /* the presets */

struct reward {
    bool excluded; /* then total is 0 and meaningless */
    double total;
    /* The components before any weight or gate. */
    double format, compile, correctness, speed, length, thinking, coverage;
};

void reward_compute(const struct reward_config *config, const struct reward_facts *facts,
                    struct reward *reward);

/* G_t = r_t + gamma * G_{t+1}; turns with excluded[t] are skipped (their own return is that of the
 * next). excluded may be NULL. */
void reward_returns(const double *rewards, const bool *excluded, size_t count, double gamma,
                    double *returns);
/* Dr. Kernel's turn masking: false if an earlier turn had a reward above 0 and this one has
 * none. */
void reward_void_turns(const double *rewards, size_t count, bool *keep);
