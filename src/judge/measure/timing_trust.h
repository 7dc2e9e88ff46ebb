/* timing_trust: whether samples suffice, and whether what they say is to be trusted.
 *
 * Two tables, whose rows are tried in order. The one ends sampling. The other makes of a timed case
 * a violation, a time that means nothing, or a note beside it; each row is a test and its sentence.
 *
 * Threads: any; nothing is kept.
 */
#pragma once

#include "judge/measure/sampling.h"
#include "judge/request/judge_settings.h"
#include "judge/verdict.h"

/* Of samples so far, whose overhead was taken off. */
struct timing_progress {
    const struct sampling *sampling;
    const struct timing_settings *settings;
    struct interval speedup;
    double target;  /* timing.target or timing.gpu_target */
    double budgets; /* of time that were spent */
    /* of all the candidate's threads meanwhile: processor time that they had, and wanted; in ms */
    double used_ms, delayed_ms;
    int processors;
};

enum timing_end { TIMING_GOES_ON, TIMING_ENOUGH, TIMING_SLOWER /* timing.stop_slower */ };

enum timing_end timing_trust_end(const struct timing_progress *progress);

/* Of samples that have ended. */
struct timing_facts {
    const struct sampling *sampling;
    const struct timing_settings *settings;
    const struct timed_case *timed;
};

/* 0, or -1: the verdict has a violation. A sentence is in timing_note, and stays the verdict's. */
NODISCARD int timing_trust_case(const struct timing_facts *facts, struct verdict *verdict);
