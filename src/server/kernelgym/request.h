/* kernelgym_request: reads the requests of KernelGYM's clients.
 *
 * POST /evaluate, /evaluate/batch and /debug/validate carry EvaluationRequests; POST
 * /workflow/submit carries one inside an envelope, with neither limits on its numbers nor a
 * fixed list of backends. Either becomes the same struct, of which translate.h makes a request of
 * our own. A mistake of form is a reply (400) and no job.
 *
 * Ownership: a request borrows from the body that it was read from. Pure functions; any thread. */
#pragma once

#include "server/kernelgym/reply.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KERNELGYM_BATCH_MOST 100

enum kernelgym_workflow { KERNELGYM_KERNELBENCH, KERNELGYM_SIMPLE };

struct kernelgym_request {
    const char *task_id;
    const char *reference_code; /* NULL if there is none: kernel_simple */
    const char *kernel_code;
    const char *toolkit, *backend_adapter, *backend;
    int64_t num_correct_trials, num_perf_trials, num_warmup;
    int64_t timeout_s;
    const char *priority; /* "low", "normal", "high" */
    const char *device_preference;
    bool force_refresh;
    const char *entry_point; /* kernelbench: of the reference; kernel_simple: of the candidate */
    const char *reference_backend;
    const char *uuid;
    bool use_reference_cache, is_valid;
    /* As sent; -1: absent. */
    int verbose_errors, enable_profiling, enable_triton_detection, measure_performance;
    int run_correctness, run_triton_detection, run_performance;
    const char *cases_code;
    const json_t *cases;       /* a list, or NULL */
    const char *workflow_name; /* as sent */
    const json_t *resources;   /* an object, or NULL */
    const char *payload_id;    /* of a workflow's payload */
    const char *unregistered;  /* an unknown workflow, toolkit or backend; NULL */
    enum kernelgym_workflow workflow;
};

/* 0, or ERR_INPUT with a reply: the caller's (kernelgym_reply_deinit). */
typedef int kernelgym_parse(const json_t *body, int64_t now_ms, struct kernelgym_request *request,
                            struct kernelgym_reply *reply);
NODISCARD kernelgym_parse kernelgym_request_parse;
/* The same for POST /debug/validate, which submits nothing: an unknown toolkit or backend is
 * part of its answer (`unregistered`), not a reply. */
NODISCARD kernelgym_parse kernelgym_validate_parse;

struct kernelgym_batch {
    const char *batch_id;
    struct kernelgym_request tasks[KERNELGYM_BATCH_MOST];
    size_t count;
};

/* One invalid task refuses the whole batch; a task with an unknown name fails alone. */
NODISCARD int kernelgym_batch_parse(const json_t *body, int64_t now_ms,
                                    struct kernelgym_batch *batch, struct kernelgym_reply *reply);

/* The envelope of /workflow/submit: its task_id and resources are stored in the request. */
NODISCARD kernelgym_parse kernelgym_workflow_parse;

/* What is wrong with a code's length, in words that follow its name; NULL: nothing, or no code. */
const char *kernelgym_code_error(const char *text);

/* The flags as KernelGYM resolves them. */
bool kernelgym_wants_timing(const struct kernelgym_request *request);
bool kernelgym_wants_decoys(const struct kernelgym_request *request);

/* A task and the parts that KernelGYM makes of it: "x_kernel" and "x_ref" are parts of "x". */
enum kernelgym_part { KERNELGYM_WHOLE, KERNELGYM_KERNEL_PART, KERNELGYM_REFERENCE_PART };

/* *base_bytes: of `id` without its suffix. Try the id itself first: it may be a task's. */
enum kernelgym_part kernelgym_part(const char *id, size_t *base_bytes);
