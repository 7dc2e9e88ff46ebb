/* metrics: what a set of samples is worth.
 *
 * A problem has samples, a sample has turns. Each measure is a ratio of sums over problems: every
 * problem adds a numerator and a denominator, so one resampling of problems gives an interval for
 * all of them, and two sets over the same problems are compared pair by pair.
 *
 * Denominators hold everything that was requested: an unreached problem, a missing sample and one
 * that was lost to the infrastructure count as not solved. (Omitting them would be survivor bias.)
 * `judged` omits missing and lost samples, to show their influence. Turns that say nothing about
 * the candidate (`excluded`) are ignored.
 *
 * Intervals: 95 %, percentile bootstrap over problems (Efron and Tibshirani, An Introduction to the
 * Bootstrap, chapter 13), because samples of one problem are correlated. If all problems agree
 * (none solved, or all), resampling is uninformative, and the interval is Clopper and Pearson's for
 * 0 or all of n. Fewer than two problems: no interval. Random numbers come from a fixed seed: the
 * same input gives the same figures everywhere.
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
    double speedup;                   /* 0: not timed */
    double speedup_low, speedup_high; /* its interval; the speedup itself where that is unknown */
    double reward;                    /* NaN: it has none */
    int status;                       /* enum verdict_status or enum gym_status */
    bool format_ok, compiled, correct, excluded;
    bool cheated; /* a violation, whatever the status: some are merely wrong */
};

struct gym_sample {
    const struct gym_turn *turns;
    size_t turn_count;
    double first_return; /* of its first turn; NaN: it has none */
    int64_t number;      /* among the problem's samples, from 0 */
};

struct gym_problem {
    const struct gym_sample *samples;
    size_t sample_count;
    size_t asked; /* samples; at least sample_count, and at least 1 */
};

/* The speedup of the fastest correct one among the first `turns`; 0 if none was timed, -1 if none
 * is correct. */
double gym_best(const struct gym_sample *sample, size_t turns);
/* Likewise of all turns of a problem's samples; *correct: how many samples have a correct one. */
double gym_best_sample(const struct gym_problem *problem, size_t *correct);
/* No turn says anything about a candidate. */
bool gym_is_lost(const struct gym_sample *sample);

/* The unbiased estimate 1 - C(n-c, k) / C(n, k) (Chen et al., arXiv 2107.03374); NaN if k is 0 or
 * more than n. */
double gym_pass_at_k(size_t n, size_t c, size_t k);

/* "Correct" is p = 0; above, the speedup must be greater than p, and measured. */
enum gym_measure_kind {
    GYM_FAST_PROBLEMS,
    GYM_FAST_SAMPLES,
    GYM_FAST_FIRST,
    GYM_PASS,
    GYM_SPEEDUP_SOLVED,
    GYM_SPEEDUP_ALL,
    GYM_SPEEDUP_FIRST,
    GYM_RETURN,
    GYM_REWARD,
    GYM_FORMAT,
    GYM_COMPILED,
    GYM_CORRECT,
    GYM_VIOLATION,
    GYM_AT_TURN,
    GYM_BY_TURN,
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

/* The contribution of one problem. Both 0: none. */
struct gym_term {
    double over, under;
};
struct gym_term gym_term(const struct gym_measure *measure, const struct gym_problem *problem);

/* A row for each kind. */
struct gym_measure_row {
    const char *name;  /* in JSON */
    const char *label; /* for people; NULL: made of p and k (report_label) */
    const char *unit;  /* what it is over */
    enum gym_scale scale;
    bool has_p;
    struct gym_term (*term)(const struct gym_measure *measure, const struct gym_problem *problem);
    const char *meaning;
};
extern const struct gym_measure_row gym_measures[GYM_MEASURE_COUNT];

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
    size_t pairs;       /* of a difference: problems that it is over; else 0 */
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
#define GYM_CHANGES(X)                                                                             \
    X(fixed, "fixed")                                                                              \
    X(broken, "broken")                                                                            \
    X(faster, "faster")                                                                            \
    X(slower, "slower")                                                                            \
    X(same, "same")                                                                                \
    X(still_wrong, "still_wrong")                                                                  \
    X(first_correct, "first_turn_correct") /* samples; so are the rest */                          \
    X(last_correct, "last_turn_correct")                                                           \
    X(improved, "improved_samples")                                                                \
    X(regressed, "regressed_samples")
struct gym_changes {
#define X(member, name) size_t member;
    GYM_CHANGES(X)
#undef X
};
void gym_changes_add(struct gym_changes *changes, const struct gym_sample *sample);
