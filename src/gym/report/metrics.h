/* metrics: what a set of samples is worth.
 *
 * A problem has samples, a sample has turns. Each measure is a ratio of sums over problems: every
 * problem adds a numerator and a denominator, so one resampling of problems gives an interval for
 * all of them, and two sets over the same problems are compared pair by pair.
 *
 * Denominators hold everything that was requested: an unreached problem, a missing sample and one *
 * that was lost to the infrastructure count as not solved. (Omitting them would be survivor bias.)
 * * `judged` omits missing and lost samples, to show their influence. Turns that say nothing about
 * the * candidate (`excluded`) are ignored. * Intervals: 95 %, percentile bootstrap over problems
 * (Efron and Tibshirani, An Introduction to the Bootstrap, chapter 13), because samples of one
 * problem are correlated. If all problems agree (none * solved, or all), resampling is
 * uninformative, and the interval is Clopper and Pearson's for 0 or * all of n. Fewer than two
 * problems: no interval. Random numbers come from a fixed seed: the same input gives the same
 * figures everywhere.
 *
 * Threads: pure. Ownership: arrays are borrowed, struct gym_resamples is the caller's.
 */
#pragma once

#include "judge/verdict.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The outcome of a turn: a verdict's status, or one of these. */
enum gym_status {
    GYM_NO_CODE = STATUS_COUNT,
    GYM_UNKNOWN, /* a status unknown to this version */
    GYM_OVER,    /* the sample ended before this turn */
    GYM_MISSING, /* there is no such sample */
    GYM_STATUS_COUNT
};

/* Never NULL. */
const char *gym_status_name(int status);
int gym_status_of(const char *name);

struct gym_turn {
    double speedup, speedup_low, speedup_high; /* 0: not timed */
    double reward;
    int status; /* enum verdict_status or enum gym_status */
    bool format_ok, compiled, correct, excluded;
    bool cheated; /* a violation, whatever the status: some are merely wrong */
};

struct gym_sample {
    const struct gym_turn *turns;
    size_t turn_count;
    double first_return; /* of its first turn */
};

struct gym_problem {
    const struct gym_sample *samples;
    size_t sample_count;
    size_t asked; /* samples; at least sample_count, and at least 1 */
};

/* The speedup of the fastest correct one among the first `turns`; 0 if none was timed, -1 if none
 * is correct. */
double gym_best(const struct gym_sample *sample, size_t turns);
/* No turn says anything about a candidate. */
bool gym_is_lost(const struct gym_sample *sample);

/* The unbiased estimate 1 - C(n-c, k) / C(n, k) (Chen et al., arXiv 2107.03374); NaN if k is 0 or
 * more than n. */
double gym_pass_at_k(size_t n, size_t c, size_t k);

/* X(symbol, name, scale, what it is). "Correct" is p = 0; a speedup that was not measured reaches
 * no p above. */
#define GYM_MEASURES(X)                                                                            \
    X(GYM_FAST_PROBLEMS, "fast_p_problems", SHARE,                                                 \
      "problems with a sample that is correct and at least p times as fast")                       \
    X(GYM_FAST_SAMPLES, "fast_p_samples", SHARE,                                                   \
      "samples with a turn that is correct and at least p times as fast")                          \
    X(GYM_PASS, "pass_at_k", SHARE,                                                                \
      "probability that one of k samples is correct and at least p times as fast")                 \
    X(GYM_SPEEDUP_SOLVED, "speedup_solved", RATIO,                                                 \
      "geometric mean of the problems' best speedups, of those correct and timed")                 \
    X(GYM_SPEEDUP_ALL, "speedup_all", RATIO,                                                       \
      "the same over all problems; one without an answer faster than 1x counts as 1x")             \
    X(GYM_RETURN, "return", MEAN, "mean return of the first turn")                                 \
    X(GYM_REWARD, "reward", MEAN, "mean reward of a turn")                                         \
    X(GYM_FORMAT, "format_rate", SHARE, "turns with code in the asked form")                       \
    X(GYM_COMPILED, "compile_rate", SHARE, "turns that compile")                                   \
    X(GYM_CORRECT, "correct_rate", SHARE, "turns that are correct")                                \
    X(GYM_VIOLATION, "violation_rate", SHARE, "turns that cheat")                                  \
    X(GYM_AT_TURN, "at_turn", SHARE,                                                               \
      "samples whose turn of this number is correct and at least p times as fast")                 \
    X(GYM_BY_TURN, "best_by_turn", SHARE,                                                          \
      "samples with a turn up to this one that is correct and at least p times as fast")

enum gym_measure_kind {
#define X(symbol, name, scale, meaning) symbol,
    GYM_MEASURES(X)
#undef X
        GYM_MEASURE_COUNT
};

/* SHARE: 0 to 1. MEAN: of rewards. RATIO: the sums are logarithms; two are compared by quotient. */
enum gym_scale { GYM_SHARE, GYM_MEAN, GYM_RATIO };

#define GYM_ALL_TURNS SIZE_MAX

struct gym_measure {
    enum gym_measure_kind kind;
    double p;    /* if it has one; 0: correct */
    size_t k;    /* of GYM_PASS */
    size_t turn; /* from 0; of AT_TURN, BY_TURN, and of the rates (GYM_ALL_TURNS: every turn) */
    bool judged; /* without missing and lost samples */
};

const char *gym_measure_name(enum gym_measure_kind kind);
const char *gym_measure_meaning(enum gym_measure_kind kind);
enum gym_scale gym_measure_scale(enum gym_measure_kind kind);

/* The contribution of one problem. Both 0: none. */
struct gym_term {
    double over, under;
};
struct gym_term gym_term(const struct gym_measure *measure, const struct gym_problem *problem);

#define GYM_ROUNDS 2000
#define GYM_SEED 20260801u

/* `rounds` draws of n problems out of n, with replacement. NULL if n is below 2. */
struct gym_resamples;
struct gym_resamples *gym_resamples_new(size_t n, size_t rounds, uint64_t seed);
void gym_resamples_free(struct gym_resamples *resamples);

struct gym_estimate {
    double value;       /* NaN: no value */
    double low, high;   /* 95 %; NaN: no interval */
    double over, under; /* the sums: 29 of 40 */
};

/* Over `count` problems; `resamples` of as many, or NULL. */
struct gym_estimate gym_estimate(const struct gym_term *terms, size_t count, enum gym_scale scale,
                                 const struct gym_resamples *resamples);
/* b - a, or b / a on the scale RATIO; over and under are 0. Pairs: terms[i] of both are of one
 * problem. A RATIO takes only pairs where both have a term. */
struct gym_estimate gym_difference(const struct gym_term *a, const struct gym_term *b, size_t count,
                                   enum gym_scale scale, const struct gym_resamples *resamples);

/* What changed from each turn to the next, and from the first to the last. Excluded turns are
 * skipped. Faster, slower: both correct and timed, and the intervals of the speedups do not
 * overlap; same: neither. */
struct gym_changes {
    size_t fixed, broken, faster, slower, same, still_wrong;
    size_t first_correct, last_correct, improved, regressed; /* samples */
};
void gym_changes_add(struct gym_changes *changes, const struct gym_sample *sample);
