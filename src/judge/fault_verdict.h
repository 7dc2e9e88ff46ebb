/* fault_verdict: from what went wrong in a stage (process/fault.h) to a verdict's status.
 *
 * Threads: the session's.
 */
#pragma once

#include "base/err.h"

struct session;

/* Writes the session's fault, if there is one, into its verdict. A reference that failed is closed,
 * and so is a candidate that took the GPU's memory. Returns -1, or 0 if there was no fault. */
int fault_verdict(struct session *session);
/* The same for an error of the judge's own. Returns -1. */
int fault_verdict_of_judge(struct session *session, const struct err *err);
