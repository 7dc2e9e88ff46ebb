/* evaluation: what is judged, and by which settings.
 *
 * Everything is the caller's of session_evaluate and outlives the evaluation. Written by
 * session_evaluate (evaluate.c) before the first stage; stages only read it, except the sizes of a
 * torch problem: its forms are looked at before its reference is opened, and `largest` is found
 * with that.
 */
#pragma once

#include "base/err.h"
#include "base/hash.h"
#include "base/settings.h"
#include "judge/request/language.h"
#include "problem/layout.h"
#include "problem/problem.h"

#include <stdbool.h>

struct candidate {
    const char *path; /* as the user named it; also its name in diagnostics */
    const char *text;
    size_t bytes;
};

/* Why no compiler should see it: too large, or no text. Its verdict is then compile_error, class
 * "source". */
NODISCARD int candidate_check(const struct candidate *candidate, struct err *err);

enum evaluation_stop {
    EVALUATION_GOES_ON,
    EVALUATION_CANCELLED,   /* ends as STATUS_CANCELLED */
    EVALUATION_OUT_OF_TIME, /* as STATUS_TIMEOUT: its time is over */
};

struct evaluation_job {
    const char *name; /* in the log; NULL: the verdict's id */
    const struct problem *problem;
    const struct candidate *candidate;
    const struct language *language; /* of the candidate */
    const struct settings *settings;
    const _Atomic int *cancelled; /* enum evaluation_stop; NULL: it cannot be cancelled */
    bool no_timing;
    bool without_oracle;                 /* of this attempt: with one the GPU's memory did not do */
    char reference_hash[HASH_HEX_BYTES]; /* of the problem and of the settings of its reference */
    uint64_t weight_seed;  /* from which the weights of all references and candidates follow */
    struct layout largest; /* of all calls of the problem */
    uint64_t argument_bytes, weight_bytes; /* torch: of a call, by their forms; 0: not known */
};

/* The settings, or what the problem states of itself where they say nothing. */
enum torch_precision evaluation_precision(const struct evaluation_job *job);
void evaluation_bound(const struct evaluation_job *job, struct answer_bound *bound);
