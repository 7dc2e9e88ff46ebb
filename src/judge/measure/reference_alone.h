/* reference_alone: whether the reference was as fast beside the candidate as it is alone. On a GPU
 * only.
 *
 * Whatever a candidate leaves running on a GPU takes its turns there while the reference is timed,
 * and makes the reference look slow (catalogue H29). So the reference's time without a candidate is
 * kept with it. It is measured when a case is timed for the first time, and whenever the reference
 * took longer than that: the cause may be the GPU, which is hot, or the candidate. If it takes less
 * again after the candidate's process was ended, that is its time. It may have been the work of
 * others on the GPU or on this machine's processors, which the candidate's time has in it as well:
 * the first time both are timed once more, without other sessions.
 *
 * Threads: the session's.
 */
#pragma once

#include "judge/measure/trial.h"

/* 0 or -1 (the verdict says why). The candidate's process may be gone then. */
int reference_alone_stage(struct trials *trials);
