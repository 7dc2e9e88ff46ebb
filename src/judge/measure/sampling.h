/* sampling: the raw times of a timed case, and what is left of them without the dispatch overhead.
 *
 * Ownership: the caller's storage; sampling_deinit frees the arrays. Threads: one at a time.
 */
#pragma once

#include "judge/numeric/stats.h"

#include <stdbool.h>
#include <stddef.h>

#define SAMPLING_RESOLUTION_MS 1e-3 /* scatter of the dispatch overhead: no time is below it */

/* What is on no clock, and may all be spent on the call's work: bringing the inputs until CALL is
 * sent, taking samples of the answer, and from then on until the last thread has stopped. */
enum { AROUND_INPUTS, AROUND_SAMPLES, AROUND_STOP, SAMPLING_AROUND };

/* Times in ms, one of each kind a pair. */
struct sampling {
    double *reference, *candidate; /* whole calls */
    double *overhead;              /* of the reference's call */
    double *issue;                 /* how long it took the reference to issue it; 0: not known */
    double *around[SAMPLING_AROUND], *candidate_around[SAMPLING_AROUND];
    double *scratch;       /* 2 * capacity */
    bool *candidate_first; /* the pair's order */
    size_t count, capacity;
    size_t ahead; /* pairs before which the candidate ran when it was to be stopped */
    double most_ahead_ms;
    bool drifts; /* the overhead: on a GPU */
    bool least;  /* only as much is taken off as every call takes: PyTorch on the CPU */
    bool slower; /* sampling ended early: timing.stop_slower */
    /* For each pair the reference's threads wanted processors and had none; of all such time. */
    double waited_ms, waited_part;
    /* of sampling_take_off */
    struct summary cost; /* of `overhead` */
};

/* The members that follow the arrays are zero. */
void sampling_init(struct sampling *sampling, size_t capacity);
void sampling_deinit(struct sampling *sampling);

/* A GPU that was idle takes some pairs until its clocks are up. Where the reference's own time in
 * the last pair is far below that in all before, these say nothing of what comes: only the last
 * one stays, as the first. */
void sampling_settle(struct sampling *sampling);

/* The median of the reference's calls by its own clock. */
double sampling_own_ms(struct sampling *sampling);
/* Times without the overhead and what the order does to them, `count` each, which are good until
 * the next call. */
void sampling_take_off(struct sampling *sampling, const double **reference,
                       const double **candidate);
/* How much more than the least overhead is taken off a call: on a busy machine the reference has to
 * wait for a processor, and a candidate that got one at once would have its work taken off. */
double sampling_waited_ms(const struct sampling *sampling);
