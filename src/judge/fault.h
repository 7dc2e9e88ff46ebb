/* fault: from an error to a verdict's status.
 *
 * The same error means different things in different processes: a crash of the candidate is its
 * own, a crash of the reference is the problem author's. Each function records the error in the
 * session's verdict and returns -1. Threads: the session's.
 */
#pragma once

#include "base/err.h"
#include "judge/process/child.h"

struct session;

int fault_judge(struct session *session, const struct err *err);
/* The reference is closed. */
int fault_reference(struct session *session, const struct err *err);
/* Of the process that makes the cases of a simple problem: the candidate's fault if the cases are
 * its own. */
int fault_cases(struct session *session, const struct child *child, const struct err *err);
/* The GPU is too small: unsupported. */
int fault_gpu_memory(struct session *session, const struct err *err);
int fault_candidate(struct session *session, const struct err *err);
