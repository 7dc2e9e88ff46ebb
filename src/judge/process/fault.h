/* fault: what went wrong in a stage, and whose doing it is.
 *
 * The same error means different things in different processes: a crash of the candidate is its
 * own, a crash of the reference is the problem author's. A stage only says what it found; what that
 * makes of the verdict is decided above (fault_verdict.h).
 */
#pragma once

#include "base/err.h"
#include "judge/process/wire.h"

enum fault_source {
    FAULT_NONE,
    FAULT_JUDGE,
    FAULT_REFERENCE,
    FAULT_CASES,  /* of the process that makes the cases of a simple problem */
    FAULT_MEMORY, /* the device's may be too small */
    FAULT_CANDIDATE,
    FAULT_LEFT_WORK, /* the GPU was busy while nothing was to run, until the candidate was gone */
    FAULT_BUSY_GPU,  /* the same, and it still was without the candidate */
};

struct fault {
    enum fault_source source;
    struct err err;
    struct wire_failed failed; /* FAULT_CASES: what that process said of itself */
};

/* Records it, unless something went wrong before. Returns -1. */
int fault_set(struct fault *fault, enum fault_source source, const struct err *err);
