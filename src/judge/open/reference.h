/* reference: the child that knows the answer.
 *
 * Making one is expensive on a GPU (a context, PyTorch, weights), so it is kept for the next
 * evaluation of the same problem (reference_cache.h). All references of a problem give candidates
 * the same: the weights follow from one seed of the judge's.
 *
 * Ownership: a reference belongs to its session, or to the cache.
 */
#pragma once

#include "base/hash.h"
#include "compile/compile.h"
#include "judge/open/cases.h"
#include "judge/process/child.h"
#include "judge/verdict.h"

struct settings;

/* How long a call takes by the reference's own clock; 0: not known yet. */
struct reference_times {
    double call_ms;              /* as last seen */
    double alone_ms, scatter_ms; /* while there was no candidate: median, and between quartiles */
    double own_ms, issue_ms;     /* of the last timing, medians: struct child_time */
};

struct reference {
    char hash[HASH_HEX_BYTES]; /* its reference_key; "" until it is ready to be called */
    struct child child;
    bool open, oracle;
    struct artifact artifact, oracle_artifact;   /* native */
    struct layout torch_layout;                  /* of a torch problem's inputs */
    struct cases cases;                          /* of a simple problem; count 0: it is none */
    int description, weights;                    /* torch: sealed copies for candidates; -1 */
    struct reference_times times[VERDICT_CASES]; /* of each timed case */
};

#define REFERENCE_NONE ((struct reference){.description = -1, .weights = -1})

/* Identifies a reference: the problem, and the settings that change its answer, or what is
 * right beside it. */
void reference_key(const struct problem *problem, const struct settings *settings,
                   char key[HASH_HEX_BYTES]);
/* Of the weights that it has passed on; 0: none. */
uint64_t reference_weight_bytes(const struct reference *reference);
/* What its process and the judge have of its device's memory for it. */
uint64_t reference_bytes(const struct reference *reference);
/* What an evaluation with it took at the most, with a candidate that takes as much, once it was
 * called: 0 on the CPU. */
uint64_t reference_evaluation_bytes(const struct reference *reference);
/* Ends its process and frees what it has; it is REFERENCE_NONE then. */
void reference_close(struct reference *reference);
