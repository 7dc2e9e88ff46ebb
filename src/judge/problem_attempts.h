/* problem_attempts: one trial of a problem's audit, and the false answers that it tries.
 *
 * A trial draws inputs, learns the true answer from the reference, and judges each attempt as the
 * answer of a candidate would be. problem_audit.h has the list of attempts.
 *
 * Ownership: a probe is the caller's storage; probe_deinit frees what trials left in it. Threads:
 * the session's. Errors: 0 or -1, with the session's fault saying why.
 */
#pragma once

#include "judge/measure/tensor_work.h"
#include "judge/problem_audit.h"
#include "judge/session_internal.h"

struct probe {
    /* the caller's */
    struct session *session;
    struct trials trials;
    struct problem_audit *audit;
    struct trial trial;
    int64_t shapes[LIMIT_ARGUMENTS][LIMIT_DIMENSIONS];
    uint32_t dimensions[LIMIT_ARGUMENTS];
    uint32_t parameters; /* torch */
    const struct problem_audit_terms *terms;
    struct tensor_work work; /* in the memory of the device that the reference computes on */
    /* of the trial at hand, whose inputs are staged (trial.h) */
    struct tensor_memory other;        /* the slot with those of another draw */
    struct tensor_memory attempt;      /* a false answer to one output */
    struct tensor_memory truths;       /* behind `truth` */
    struct tensor truth[WIRE_OUTPUTS]; /* copies */
    double other_value[WIRE_OUTPUTS];  /* the other draw's answer, where it is one number */
    uint32_t outputs;
    uint64_t digests[2][LIMIT_ARGUMENTS]; /* of the inputs, and of the other draw's */
    double reference_ms;
    /* of all trials */
    char (*draws)[HASH_HEX_BYTES]; /* of the inputs of each draw */
    uint32_t draw_count, draws_repeated;
};

/* A trial of all attempts. */
NODISCARD int probe_run(struct probe *probe);
/* Whether every attempt has been refused, and a brief audit needs no more trials. */
bool probe_is_settled(const struct probe *probe);
/* More trials, as time allows, while an attempt passes: what a candidate could keep up is no chance
 * of a few draws. -1: cancelled. */
NODISCARD int probe_confirm(struct probe *probe);
/* Draws as many inputs as a trial does, and only looks whether they are new. */
NODISCARD int probe_draw(struct probe *probe);
/* After all trials: more of them, as time allows. */
NODISCARD int probe_draw_many(struct probe *probe);
/* What only all trials together show. */
void probe_finish(struct probe *probe);
void probe_deinit(struct probe *probe);
