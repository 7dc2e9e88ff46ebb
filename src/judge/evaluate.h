/* evaluate: one candidate, from its text to its verdict.
 *
 *   admit ─► choose a device ─► open reference and candidate ─► check ─► time ─► profile ─► confirm
 *
 * Ownership: all arguments are the caller's; the verdict is filled for the caller
 * (verdict_deinit). Threads: one for each session. Errors: whatever goes wrong is the verdict's
 * status.
 */
#pragma once

#include "judge/request/evaluation.h"
#include "judge/session.h"
#include "judge/verdict.h"

/* How one evaluation differs from the judge's own options. Zeroed: in nothing. */
struct evaluation_terms {
    const struct settings *settings; /* of these check.*, timing.*, torch.*, *.timeout_ms count */
    const _Atomic int *stopped;      /* enum evaluation_stop; instead of the judge's `cancelled` */
    bool no_timing;
};

/* Judges one candidate. Always fills the verdict. `terms` may be NULL. */
void session_evaluate(struct session *session, const struct problem *problem,
                      const struct candidate *candidate, const struct evaluation_terms *terms,
                      struct verdict *verdict);
