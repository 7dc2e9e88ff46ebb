/* kernelgym_result: a job and its verdict in KernelGYM's form.
 *
 * One look at the job decides everything (its outcome), so /status, /results, /workflow/results and
 * a batch can't contradict each other. What KernelGYM's clients read stands where they read it: at
 * the top level and, what they look for there first, in `metadata`; runtimes are in ms and -1.0
 * where nothing was measured. What we know beyond it stands under metadata.integrity and
 * metadata.warpgym.
 *
 *   our status                                     theirs     compiled  correct  error_code
 *   passed                                         completed  true      true     none
 *   wrong                                          completed  true      false    CORRECTNESS_ERROR
 *   violation                                      completed  true      false    CORRECTNESS_ERROR
 *                                                  and decoy_kernel
 *   runtime_error, out_of_memory once it is loaded completed  true      false    RUNTIME_ERROR
 *   compile_error, load_error                      failed     false     false    COMPILATION_ERROR
 *   runtime_error, out_of_memory while it loads    failed     false     false    RUNTIME_ERROR
 *   unsupported                                    failed     as judged false    VALIDATION_ERROR,
 *                                                                                RESOURCE_ERROR
 *   infrastructure_error                           failed     as judged false    SYSTEM_ERROR
 *   timeout                                        timeout    as judged false    TIMEOUT_ERROR
 *   cancelled                                      failed     false     false    SYSTEM_ERROR
 *
 * Ownership: new references. Pure functions over borrowed values; any thread.
 */
#pragma once

#include "judge/verdict.h"
#include "server/kernelgym/reply.h"
#include "server/kernelgym/request.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum kernelgym_state { KERNELGYM_PENDING, KERNELGYM_PROCESSING, KERNELGYM_ENDED };

struct kernelgym_job {
    const char *id;
    enum kernelgym_state state;
    bool cancelled;                       /* it ended because of a cancellation */
    int64_t put_ms, started_ms, ended_ms; /* since 1970; 0: not yet */
    int64_t queue_position;               /* of a pending job, from 0; -1: unknown */
    const char *worker;                   /* NULL */
    const char *reason; /* why it ended without a worker's result, or was queued again; NULL */
    /* of its evaluation request; NULL: not submitted through KernelGYM's routes */
    const json_t *notes;
    const struct verdict *verdict; /* NULL: none yet, or none at all */
};

/* TaskStatusResponse. */
json_t *kernelgym_status(const struct kernelgym_job *job, enum kernelgym_part part);

/* EvaluationResponse; NULL before the end: 404. A part appears under its own id. */
json_t *kernelgym_result(const struct kernelgym_job *job, enum kernelgym_part part);

/* WorkflowResponse, of the whole task; NULL likewise. */
json_t *kernelgym_workflow_result(const struct kernelgym_job *job, enum kernelgym_part part);

/* BatchEvaluationResponse of a whole batch. Takes `results`, a list of kernelgym_result. */
json_t *kernelgym_batch_result(const char *batch_id, json_t *results, int64_t put_ms,
                               int64_t ended_ms);

/* 404 with KernelGYM's text. */
void kernelgym_not_found(struct kernelgym_reply *reply, const char *id);
/* {"message": …} of DELETE /tasks/{id}. */
json_t *kernelgym_cancelled(const char *id);

/* Shared by the files of this translation. */

struct kernelgym_terms { /* from `notes`, with defaults */
    const char *workflow, *backend, *reference_backend, *uuid, *device_preference;
    int64_t num_correct_trials, num_perf_trials;
    bool verbose, profiling, decoys, timing, compare, is_valid, simple;
};

struct kernelgym_outcome {
    const char *status;
    bool compiled;
    int correct; /* -1: not compared */
    bool decoy;
    enum kernelgym_code code;
    json_t *message; /* a text or null; the caller's */
    double candidate_ms, reference_ms, speedup;
};

/* The text of the verdict's error, with the excerpt if it is requested and present. */
const char *kernelgym_error_text(const struct verdict *verdict, bool verbose);
json_t *kernelgym_metadata(const struct kernelgym_job *job, const struct kernelgym_terms *terms,
                           const struct kernelgym_outcome *outcome);
/* For clients that read them at the top level: the four numbers of a profile, and `profiling` if
 * present. */
void kernelgym_put_coverage(json_t *object, const struct verdict *verdict);
/* NULL if nothing was traced. */
json_t *kernelgym_profiling(const struct verdict *verdict);
