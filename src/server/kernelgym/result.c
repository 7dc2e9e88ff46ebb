#include "server/kernelgym/result.h"

#include "base/buf.h"
#include "base/json.h"

#include <stdio.h>
#include <string.h>

#define MESSAGE_BYTES ((size_t)64 << 10)

/* KernelGYM's terms for each of our statuses. */
static const struct translation {
    bool compiled;              /* the status implies it, whatever the verdict has */
    const char *before, *after; /* KernelGYM's status, before the candidate is loaded and after */
    enum kernelgym_code code;
    const char *prefix;
} translations[STATUS_COUNT] = {
    [STATUS_PASSED] = {true, "completed", "completed", KERNELGYM_NO_CODE, NULL},
    [STATUS_WRONG] = {true, "completed", "completed", KERNELGYM_CORRECTNESS,
                      "Kernel produced incorrect results"},
    [STATUS_VIOLATION] = {true, "completed", "completed", KERNELGYM_CORRECTNESS,
                          "Kernel refused as a reward hack"},
    [STATUS_RUNTIME_ERROR] = {false, "failed", "completed", KERNELGYM_RUNTIME,
                              "Kernel execution failed"},
    [STATUS_OUT_OF_MEMORY] = {false, "failed", "completed", KERNELGYM_RUNTIME,
                              "Kernel execution failed"},
    [STATUS_COMPILE_ERROR] = {false, "failed", "failed", KERNELGYM_COMPILATION,
                              "Kernel compilation failed"},
    [STATUS_LOAD_ERROR] = {false, "failed", "failed", KERNELGYM_COMPILATION,
                           "Kernel compilation failed"},
    [STATUS_UNSUPPORTED] = {false, "failed", "failed", KERNELGYM_RESOURCE,
                            "Kernel evaluation failed"},
    [STATUS_TIMEOUT] = {false, "timeout", "timeout", KERNELGYM_TIMEOUT,
                        "Kernel evaluation timeout"},
    [STATUS_CANCELLED] = {false, "failed", "failed", KERNELGYM_SYSTEM, "Task cancelled"},
    [STATUS_INFRASTRUCTURE_ERROR] = {false, "failed", "failed", KERNELGYM_SYSTEM,
                                     "Kernel evaluation failed"},
};

static const char *text_of(const json_t *object, const char *key, const char *standard)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : standard;
}

static int64_t int_of(const json_t *object, const char *key, int64_t standard)
{
    const json_t *value = json_object_get(object, key);
    return json_is_integer(value) ? json_integer_value(value) : standard;
}

static bool bool_of(const json_t *object, const char *key, bool standard)
{
    const json_t *value = json_object_get(object, key);
    return json_is_boolean(value) ? json_is_true(value) : standard;
}

static void terms_read(const json_t *notes, struct kernelgym_terms *terms)
{
    const json_t *ours = json_object_get(notes, "kernelgym");
    *terms = (struct kernelgym_terms){
        .workflow = text_of(ours, "workflow", "kernelbench"),
        .backend = text_of(ours, "backend", "triton"),
        .reference_backend = text_of(ours, "reference_backend", NULL),
        .uuid = text_of(ours, "uuid", NULL),
        .device_preference = text_of(ours, "device_preference", NULL),
        .num_correct_trials = int_of(ours, "num_correct_trials", 5),
        .num_perf_trials = int_of(ours, "num_perf_trials", 100),
        .verbose = bool_of(ours, "verbose", true),
        .profiling = bool_of(ours, "profiling", true),
        .decoys = bool_of(ours, "decoys", true),
        .timing = bool_of(ours, "timing", true),
        .compare = bool_of(ours, "compare", true),
        .is_valid = bool_of(ours, "is_valid", false),
    };
    terms->simple = strcmp(terms->workflow, "kernel_simple") == 0;
}

const char *kernelgym_error_text(const struct verdict *verdict, bool verbose)
{
    if (!verdict || !verdict->error_class)
        return "";
    if (verbose && verdict->error_excerpt && *verdict->error_excerpt)
        return verdict->error_excerpt;
    return verdict->error_message ? verdict->error_message : "";
}

/* -1.0 if it was not measured. */
static double median_ms(const struct summary *summary)
{
    return summary->median > 0 ? summary->median : -1.0;
}

static void read_times(const struct verdict *verdict, struct kernelgym_outcome *outcome)
{
    struct interval speedup;
    if (!verdict || outcome->correct == 0 || !verdict->timing_meaningful)
        return;
    outcome->candidate_ms = median_ms(&verdict->cases[0].candidate);
    outcome->reference_ms = median_ms(&verdict->cases[0].reference);
    verdict_speedup(verdict, &speedup);
    if (outcome->candidate_ms > 0 && outcome->reference_ms > 0 && speedup.value > 0)
        outcome->speedup = speedup.value;
}

/* All of the work is PyTorch's: according to the trace of launches, or without a trace because
 * the candidate has no kernel at all. Not reported for kernel_simple. */
static bool is_decoy(const struct verdict *verdict, const struct kernelgym_terms *terms)
{
    const struct launch_totals *all = &verdict->launched;
    if (terms->simple || !terms->decoys)
        return false;
    if (all->calls > 0)
        return all->own_kernels == 0 && all->kernels > 0;
    return verdict->own_launch_fraction == 0 && verdict_has_warning(verdict, "H41");
}

static bool is_class(const struct verdict *verdict, const char *name)
{
    return verdict && verdict->error_class && strcmp(verdict->error_class, name) == 0;
}

/* The code of our error class first, if it is more specific than the status. */
static enum kernelgym_code code_of(const struct verdict *verdict,
                                   const struct translation *translation)
{
    bool ours = is_class(verdict, "validation") || is_class(verdict, "format");
    return translation->code == KERNELGYM_RESOURCE && ours ? KERNELGYM_VALIDATION
                                                           : translation->code;
}

static json_t *message_of(const struct kernelgym_job *job, const struct kernelgym_terms *terms,
                          const struct translation *translation)
{
    const char *text = kernelgym_error_text(job->verdict, terms->verbose);
    const char *prefix = is_class(job->verdict, "reference") ? "Reference evaluation failed"
                                                             : translation->prefix;
    struct buf whole;
    if (!prefix)
        return json_null();
    if (!*text && job->reason)
        text = job->reason;
    buf_init(&whole, MESSAGE_BYTES);
    if (!is_class(job->verdict, "validation"))
        buf_printf(&whole, "%s%s", prefix, *text ? ": " : "");
    buf_puts(&whole, text);
    json_t *message = json_text_bytes(whole.data, whole.len);
    buf_deinit(&whole);
    return message;
}

static void judge_unfinished(const struct kernelgym_job *job, struct kernelgym_outcome *outcome)
{
    outcome->status = job->state == KERNELGYM_PENDING ? "pending" : "processing";
    outcome->message = json_null();
}

static void outcome_read(const struct kernelgym_job *job, const struct kernelgym_terms *terms,
                         struct kernelgym_outcome *outcome)
{
    *outcome = (struct kernelgym_outcome){.candidate_ms = -1.0, .reference_ms = -1.0};
    if (job->state != KERNELGYM_ENDED) {
        judge_unfinished(job, outcome);
        return;
    }
    const struct verdict *verdict = job->verdict;
    enum verdict_status status = job->cancelled ? STATUS_CANCELLED
                                 : verdict      ? verdict->status
                                                : STATUS_INFRASTRUCTURE_ERROR;
    const struct translation *translation = &translations[status];
    outcome->compiled = translation->compiled || (verdict && verdict->compiled);
    if (status == STATUS_COMPILE_ERROR || job->cancelled)
        outcome->compiled = false;
    outcome->status = outcome->compiled ? translation->after : translation->before;
    /* kernel_simple has no result for a run that failed. */
    if (terms->simple && translation->code == KERNELGYM_RUNTIME)
        outcome->status = "failed";
    outcome->code = code_of(verdict, translation);
    outcome->correct = status == STATUS_PASSED && verdict->correct;
    if (terms->simple && outcome->correct &&
        (!terms->compare || (verdict->cases_from && verdict->cases_compared == 0)))
        outcome->correct = -1;
    bool refused = status == STATUS_VIOLATION;
    outcome->decoy = refused || (outcome->correct && is_decoy(verdict, terms));
    outcome->message = message_of(job, terms, translation);
    read_times(verdict, outcome);
}

static void put_times(json_t *object, const struct kernelgym_job *job)
{
    json_put(object, "submitted_at", json_time(job->put_ms));
    json_put(object, "completed_at", json_time(job->ended_ms));
}

static json_t *part_id(const struct kernelgym_job *job, enum kernelgym_part part)
{
    char text[512];
    snprintf(text, sizeof text, "%s%s", job->id,
             part == KERNELGYM_KERNEL_PART      ? "_kernel"
             : part == KERNELGYM_REFERENCE_PART ? "_ref"
                                                : "");
    return json_text(text);
}

json_t *kernelgym_status(const struct kernelgym_job *job, enum kernelgym_part part)
{
    struct kernelgym_terms terms;
    struct kernelgym_outcome outcome;
    json_t *answer = json_object();
    bool running = job->state == KERNELGYM_PROCESSING;
    terms_read(job->notes, &terms);
    outcome_read(job, &terms, &outcome);
    json_put(answer, "task_id", part_id(job, part));
    json_put(answer, "status", json_text(outcome.status));
    json_put(answer, "progress",
             job->state == KERNELGYM_ENDED ? json_real(1.0)
             : running                     ? json_null()
                                           : json_real(0.0));
    json_put(answer, "estimated_completion", json_null());
    json_put(answer, "queue_position",
             job->state == KERNELGYM_PENDING && job->queue_position >= 0
                 ? json_integer(job->queue_position)
                 : json_null());
    json_put(answer, "assigned_device", json_text(running ? job->worker : NULL));
    json_put(answer, "error_message", outcome.message);
    json_put(answer, "error_code", json_text(kernelgym_code_name(outcome.code)));
    json_put(answer, "started_at", json_time(job->started_ms));
    put_times(answer, job);
    return answer;
}

/* Keeps only what that part measures in KernelGYM. */
static void keep_part(struct kernelgym_outcome *outcome, enum kernelgym_part part)
{
    if (part == KERNELGYM_WHOLE)
        return;
    outcome->speedup = 0;
    if (part == KERNELGYM_KERNEL_PART) {
        outcome->reference_ms = -1.0;
        return;
    }
    outcome->candidate_ms = -1.0;
    outcome->decoy = false;
}

/* Common to /results and a workflow's answer. */
static json_t *result_json(const struct kernelgym_job *job, enum kernelgym_part part,
                           struct kernelgym_outcome *outcome)
{
    struct kernelgym_terms terms;
    terms_read(job->notes, &terms);
    outcome_read(job, &terms, outcome);
    keep_part(outcome, part);
    json_t *answer = json_object();
    bool reference = part == KERNELGYM_REFERENCE_PART;
    json_put(answer, "task_id", part_id(job, part));
    json_put(answer, "status", json_text(outcome->status));
    json_put(answer, "compiled", reference ? json_null() : json_boolean(outcome->compiled));
    json_put(answer, "correctness",
             reference || outcome->correct < 0 ? json_null() : json_boolean(outcome->correct));
    json_put(answer, "decoy_kernel", reference ? json_null() : json_boolean(outcome->decoy));
    json_put(answer, "reference_runtime", json_number(outcome->reference_ms));
    json_put(answer, "kernel_runtime", json_number(outcome->candidate_ms));
    json_put(answer, "speedup", json_number(outcome->speedup));
    json_put(answer, "metadata", kernelgym_metadata(job, &terms, outcome));
    json_put(answer, "error_message", outcome->message);
    json_put(answer, "error_code", json_text(kernelgym_code_name(outcome->code)));
    if (!reference)
        kernelgym_put_coverage(answer, job->verdict);
    if (terms.profiling && !reference)
        json_put(answer, "profiling", kernelgym_profiling(job->verdict));
    return answer;
}

json_t *kernelgym_result(const struct kernelgym_job *job, enum kernelgym_part part)
{
    struct kernelgym_outcome outcome;
    if (job->state != KERNELGYM_ENDED)
        return NULL;
    json_t *answer = result_json(job, part, &outcome);
    bool known = job->started_ms > 0 && job->ended_ms >= job->started_ms;
    put_times(answer, job);
    json_put(answer, "processing_time",
             known ? json_number((double)(job->ended_ms - job->started_ms) / 1e3) : json_null());
    return answer;
}

json_t *kernelgym_workflow_result(const struct kernelgym_job *job, enum kernelgym_part part)
{
    (void)part;
    struct kernelgym_outcome outcome;
    if (job->state != KERNELGYM_ENDED)
        return NULL;
    json_t *result = result_json(job, KERNELGYM_WHOLE, &outcome);
    json_t *answer = json_object();
    json_put(answer, "task_id", json_text(job->id));
    json_put(answer, "status", json_text(outcome.status));
    json_put(answer, "error_message", json_incref(json_object_get(result, "error_message")));
    json_put(answer, "error_code", json_incref(json_object_get(result, "error_code")));
    put_times(answer, job);
    json_object_del(result, "status");
    json_put(answer, "result", result);
    return answer;
}

json_t *kernelgym_batch_result(const char *batch_id, json_t *results, int64_t put_ms,
                               int64_t ended_ms)
{
    size_t total = json_array_size(results);
    size_t completed = 0;
    for (size_t i = 0; i < total; i++)
        completed += strcmp(text_of(json_array_get(results, i), "status", ""), "completed") == 0;
    json_t *answer = json_object();
    json_put(answer, "batch_id", json_text(batch_id));
    json_put(answer, "total_tasks", json_integer((json_int_t)total));
    json_put(answer, "completed_tasks", json_integer((json_int_t)completed));
    json_put(answer, "failed_tasks", json_integer((json_int_t)(total - completed)));
    json_put(answer, "results", results);
    json_put(answer, "batch_status", json_text("completed"));
    json_put(answer, "submitted_at", json_time(put_ms));
    json_put(answer, "completed_at", json_time(ended_ms));
    return answer;
}

void kernelgym_not_found(struct kernelgym_reply *reply, const char *id)
{
    (void)kernelgym_refuse(reply, 404, KERNELGYM_NO_CODE, "Task %.400s not found", id);
}

json_t *kernelgym_cancelled(const char *id)
{
    char text[512];
    snprintf(text, sizeof text, "Task %.400s cancelled successfully", id);
    return json_pack("{s:o}", "message", json_text(text));
}
