/* judge: what all evaluations of this process share: toolchain, standby servers, GPUs, build cache
 * and cached references.
 *
 * The modules above use
 *
 *   judge.h      a judge
 *   session.h    what one thread keeps from one evaluation to the next
 *   evaluate.h   one evaluation: a candidate's text becomes a verdict
 *   batch.h      many evaluations at once
 *
 * judge_open is cheap: standby servers start when the first candidate needs them (judge_warm starts
 * them earlier). Ownership: judge_close frees all; sessions are freed before. Threads: any number
 * may use a judge. Errors: as base/err.h has them.
 */
#pragma once

#include "base/err.h"
#include "base/settings.h"
#include "problem/problem.h"

#include <stdbool.h>

struct judge;

struct judge_options {
    const struct settings *settings;
    const _Atomic int *cancelled; /* non-zero: end what runs, answer STATUS_CANCELLED */
    bool no_timing;               /* correctness only */
};

NODISCARD int judge_open(struct judge **judge, const struct judge_options *options,
                         struct err *err);
void judge_close(struct judge *judge);
/* Starts what the next evaluation of a candidate of that name needs, without waiting. A failure
 * shows when it is used. */
void judge_warm(struct judge *judge, enum problem_format format, const char *path);
