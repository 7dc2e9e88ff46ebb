/* problem_audit: can a problem be gamed?
 *
 * A judge is only as good as its problems. Each *attempt* below answers without doing the work; a
 * problem is sound if every attempt fails in at least one trial, as a candidate that made it would.
 * Trials are those of an evaluation: every check row and the first time row (native), three draws
 * of inputs (torch), and up to 32 of which only the inputs are looked at. An attempt that passes
 * them all is made on five more draws, and has to pass three fourths of all: it may have been by
 * chance, and a candidate needs no more draws than the first ones. An audit is made where
 * candidates are judged: native problems on the CPU, PyTorch problems on a GPU if there is one
 * (setting torch.device), where no tensor passes through the host (measure/tensor_work.h). What
 * only machines lack (the GPU's memory, the judge's kernels) is an error of the audit's.
 *
 *   the answer to other inputs: one that was kept, or a constant for each element
 *   answers kept for inputs that come again: at least half of the draws repeat an earlier one
 *   zeros, constants (the answer's own mean), copies of inputs (or an inout left as it was)
 *   zeros but for the largest sixteenth of an output: a few elements decide
 *   lower precision: floating inputs rounded to 10 bits of mantissa (TF32, half; 7 bits for half)
 *   dropped term: the last sixteenth of an axis of one input set to zero
 *   ignored: one input drawn anew, one parameter set to zero: the answer must change
 *
 * Where all outputs are single numbers, "mean" is that of another draw, and precision is not tried:
 * an average forgives rounding, and a mean of one number is that number.
 *
 * The hacks that need such a problem: H04, H07, H10, H13 and H14 of docs/design/hacks.md.
 *
 * Ownership: the result is the caller's (problem_audit_deinit). Threads: any.
 */
#pragma once

#include "judge/judge.h"
#include "judge/verdict.h"

#include <stdbool.h>

struct attempt {
    const char *name;   /* "zeros", "without the last slice of `x` along axis 1" */
    const char *code;   /* of the catalogue */
    uint32_t trials;    /* in which it applied */
    uint32_t passed;    /* of those; problem_audit_passed: the problem can be gamed */
    double worst_error; /* largest relative error over the trials, in tolerances */
    double gain;        /* times as fast as the reference, if it were the answer; NaN: not known */
};

struct problem_audit {
    struct arena arena;
    struct attempt *attempts;
    size_t count, capacity;
    double own_error;   /* of the reference against its oracle, in tolerances; NaN: no oracle. The
                         * worst trial's; if inputs give more than 1, others are drawn for it */
    bool deterministic; /* the same inputs gave the same answer twice */
    uint32_t trials;
};

/* How it is made; zeroed: in whole, with the judge's settings. */
struct problem_audit_terms {
    const struct settings *settings; /* NULL: the judge's */
    const _Atomic int *cancelled;    /* NULL: the judge's */
    const _Atomic int *over;         /* it ends before its next call, as if cancelled; NULL */
    bool brief;                      /* once an attempt was refused, it is not made again */
    struct session *next;            /* the evaluation that goes on with the reference, and on a
                                      * GPU with the device; NULL */
    /* called with true when it goes on, with false while it opens its reference or waits for a
     * device; it begins with that; NULL */
    void (*runs)(void *context, bool now);
    void *context;
};

/* Whether it is made on a GPU. */
bool problem_audit_on_gpu(struct judge *judge, const struct problem *problem,
                          const struct settings *settings);
/* 0: read the result; negative: the reference itself fails, or ERR_CANCELLED. `terms` may be
 * NULL. */
NODISCARD int problem_audit_run(struct judge *judge, const struct problem *problem,
                                const struct problem_audit_terms *terms,
                                struct problem_audit *audit, struct err *err);
void problem_audit_deinit(struct problem_audit *audit);

/* Whether it passed wherever it applied, or in three of four of more draws. */
bool problem_audit_passed(const struct attempt *attempt);
/* Whether it did so without the work: lower precision takes all of it. */
bool problem_audit_worthless(const struct attempt *attempt);
/* Whether any attempt got through, the reference is inaccurate or unsteady. */
bool problem_audit_gamed(const struct problem_audit *audit);
/* The outcome, as it stands in a verdict, which keeps copies. Lower precision alone makes no
 * problem gameable there: the work is done. */
void problem_audit_verdict(const struct problem_audit *audit, struct verdict *verdict);
