/* session_internal: the inside of struct session, and what session.c defines for the top layer.
 *
 * Each member belongs to one layer. A layer gets a view of what it reads (struct opening, struct
 * trials), never the session.
 *
 *   job         request/evaluation.h    what is judged
 *   lease       gpu/device_lease.h      the device that it is judged on
 *   reserve     process/spawner.h       processes with a context there, for the next children
 *   builds      build/build.h           what its torch processes asked to be compiled
 *   reference   reference/reference.h   the process that knows the answer
 *   candidate   process/child.h         the process that is judged
 *   trials      measure/trial.h         inputs and answers of the trial at hand
 *   fault       process/fault.h         why a stage failed
 *   verdict     verdict.h               what was found
 */
#pragma once

#include "judge/build/build.h"
#include "judge/gpu/device_lease.h"
#include "judge/judge_internal.h"
#include "judge/measure/trial.h"
#include "judge/open/opening.h"
#include "judge/request/evaluation.h"
#include "judge/session.h"
#include "judge/verdict.h"

struct session {
    struct judge *judge;
    struct evaluation_job job;
    struct verdict *verdict; /* the caller's */
    struct device_lease lease;
    struct err no_gpu; /* why a CUDA candidate has none */
    struct spawner_reserve reserve;
    struct builds builds;
    struct device_turn build_turn; /* of each program that they run on the CPU */
    struct child_builder builder;  /* for its torch processes */
    struct reference reference;
    struct child candidate;
    struct trial_state trials;
    struct fault fault;
    uint64_t memory_kills;  /* of this machine, when it had its share of the memory */
    int64_t stage_ns;       /* when the stage at hand began, */
    double stage_waited_ms; /* and lease.waited_ms then */
};

/* What the layers see of it, for the evaluation at hand. */
struct opening session_opening(struct session *session);
struct trials session_trials(struct session *session);

/* What is judged next, by the session's settings. */
void session_take_problem(struct session *session, const struct problem *problem);
/* Stops the reference, for no evaluation. False: it cannot be called again. */
bool session_rest_reference(struct session *session);
/* Puts the reference into the judge's cache, or ends it if it cannot be called again. */
void session_cache_reference(struct session *session);

/* Whether the sizes of the problem at hand have been looked for; they are its job's then. */
bool session_is_sized(struct session *session);
/* The job's are what was found. */
void session_keep_sizes(struct session *session);
/* The lease's share of the device's memory: a GPU's slots, or this machine's. 0 or -1 (the verdict
 * says why). */
int session_take_share(struct session *session);
/* The lease; that begins with its share, and on a GPU with processes of that kind: one for a
 * candidate if there is to be one, and one for the reference. 0 or -1 (the verdict says why). */
int session_enter_device(struct session *session, enum sandbox_kind kind, bool candidate);
/* The device's lock: shared, or on a GPU exclusive where the lease is wanted alone. 0 or -1,
 * likewise. */
int session_lock_device(struct session *session);
/* The lock for timing: exclusive. 0 or -1, likewise. */
int session_lock_device_for_timing(struct session *session);
/* Once the reference is open: whether the problem takes more of the device's memory than what the
 * session has. It asks for as much as it needs the next time. */
bool session_outgrew_slots(struct session *session);
/* Once the reference has been called: what the problem takes is known from now on. */
void session_learn_memory(struct session *session);
/* Lock, slots and reserved processes; not the GPU. */
void session_release_device(struct session *session);

/* Prepares `builds` for an attempt on the lease's device. */
void session_prepare_builds(struct session *session, struct standby *standby);
/* A stage, and what it took for the verdict: without the time that it spent compiling for torch
 * processes and waiting for the device. */
void session_begin_stage(struct session *session);
void session_end_stage(struct session *session, enum verdict_stage stage);
