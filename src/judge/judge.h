/* judge: what the modules above it see of judging.
 *
 *   judge     what all jobs of this process share: toolchain, standby servers, cache, device lock
 *   session   one job's private half: a reference child is kept from one candidate to the next of
 * the
 *             same problem; a candidate child never is
 *
 * judge_open is cheap: standby servers start when the first candidate needs them (judge_warm starts
 * them earlier). Threads: a judge may be used by any number of threads, a session by one at a time.
 */
#ifndef WARPGYM_JUDGE_JUDGE_H
#define WARPGYM_JUDGE_JUDGE_H

#include "base/err.h"
#include "base/settings.h"
#include "judge/verdict.h"
#include "problem/problem.h"

#include <stdbool.h>

struct judge;
struct session;

struct judge_options {
    const struct settings *settings;
    const _Atomic int *cancelled; /* non-zero: end what runs, answer STATUS_CANCELLED */
    bool no_timing;               /* correctness only */
};

struct candidate {
    const char *path; /* as the user named it; also its name in diagnostics */
    const char *text;
    size_t bytes;
};

NODISCARD int judge_open(struct judge **judge, const struct judge_options *options,
                         struct err *err);
void judge_close(struct judge *judge);
/* Starts what evaluating one more candidate, of that name, needs, without waiting. Failures show
 * when it is used. */
void judge_warm(struct judge *judge, enum problem_format format, const char *path);

struct session *session_new(struct judge *judge);
void session_free(struct session *session);

enum evaluation_stop {
    EVALUATION_GOES_ON,
    EVALUATION_CANCELLED,   /* ends as STATUS_CANCELLED */
    EVALUATION_OUT_OF_TIME, /* as STATUS_TIMEOUT: it was given so long and no longer */
};

/* By what one evaluation is judged, where that is not the judge's own. Zeroed: it is. */
struct evaluation_terms {
    const struct settings *settings; /* check.*, timing.*, torch.*, *.timeout_ms of these count */
    const _Atomic int *stopped;      /* enum evaluation_stop; instead of the judge's `cancelled` */
    bool no_timing;
};

/* Judges one candidate. Always fills the verdict (the caller's; verdict_deinit): whatever goes
 * wrong is its status. `terms` may be NULL. */
void session_evaluate(struct session *session, const struct problem *problem,
                      const struct candidate *candidate, const struct evaluation_terms *terms,
                      struct verdict *verdict);

/* Why no compiler should see it: too large, or no text. Its verdict is then compile_error, class
 * "source". */
NODISCARD int candidate_check(const struct candidate *candidate, struct err *err);

#endif
