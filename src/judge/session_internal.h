/* session_internal: the inside of struct session, and what session.c defines for the stages.
 *
 * Each member belongs to one floor:
 *
 *   job         request/evaluation.h    what is judged
 *   lease       gpu/device_lease.h      the device that it is judged on
 *   builds      build/build.h           what its torch processes asked to be compiled
 *   reference   reference/reference.h   the process that knows the answer
 *   candidate   process/child.h         the process that is judged
 *   trials      measure/trial.h         inputs and answers of the trial at hand
 *   verdict     verdict.h               what was found
 */
#pragma once

#include "judge/build/build.h"
#include "judge/gpu/device_lease.h"
#include "judge/judge_internal.h"
#include "judge/measure/trial.h"
#include "judge/request/evaluation.h"
#include "judge/session.h"
#include "judge/verdict.h"

struct session {
    struct judge *judge;
    struct evaluation_job job;
    struct verdict *verdict; /* the caller's */
    struct device_lease lease;
    struct builds builds;
    struct child_builder builder; /* for its torch processes */
    struct reference reference;
    struct child candidate;
    struct trials trials;
};

/* Frees the GPU memory that the judge itself made for this evaluation. */
void session_free_gpu_memory(struct session *session);
/* Ends the candidate's process. Its layers and peak memory go into the verdict. */
void session_end_candidate(struct session *session);
/* How many threads a child may use. */
int session_threads(const struct session *session);

/* The lease, with processes of that kind reserved for candidate and reference. On the CPU nothing
 * happens: it is locked from the start, because compiling disturbs timing. 0 or -1 (the verdict
 * says why). */
int session_enter_device(struct session *session, enum sandbox_kind kind);
/* The device's lock: shared, or exclusive where the lease is wanted alone. 0 or -1, likewise. */
int session_lock_device(struct session *session);
/* The lock for timing: exclusive, and kept while something compiles. 0 or -1, likewise. */
int session_lock_device_for_timing(struct session *session);
/* Gives a GPU back while something is compiled, unless it is being timed, and with it a reference
 * that has not been called yet. Returns how it was held; session_resume_device takes it again. */
enum lease_mode session_pause_device(struct session *session);
void session_resume_device(struct session *session, enum lease_mode mode);

/* Prepares `builds` for an attempt on the lease's device. */
void session_prepare_builds(struct session *session, struct standby *standby);
/* Adds to the verdict what a stage that began at start_ns took, without the time it spent
 * compiling for torch processes and waiting for the device after that. */
void session_end_stage(struct session *session, enum verdict_stage stage, int64_t start_ns);
