/* verdict: evaluates a job's payload. */
#include "worker/internal.h"

#include "base/clock.h"
#include "base/json.h"
#include "judge/request/request.h"

#include <string.h>

/* Since the put; clocks of two machines may differ. */
static double waited_ms(const struct queue_job *job)
{
    int64_t ms = job->claimed_ms - job->put_ms;
    return ms > 0 ? (double)ms : 0;
}

static void set_deadline(struct slot *slot, int64_t timeout_ms)
{
    pthread_mutex_lock(&slot->worker->lock);
    slot->deadline_ns = timeout_ms > 0 ? clock_now_ns() + timeout_ms * 1000000 : 0;
    pthread_mutex_unlock(&slot->worker->lock);
}

static void request_evaluate(struct slot *slot, const struct evaluation_request *request,
                             const struct problem *problem, const struct settings *settings,
                             struct verdict *verdict)
{
    struct candidate candidate = {.path = request->candidate_name,
                                  .text = request->candidate_source,
                                  .bytes = strlen(request->candidate_source)};
    struct evaluation_terms terms = {.settings = settings,
                                     .stopped = &slot->stop,
                                     .no_timing = !request->timing};
    set_deadline(slot, request->timeout_ms);
    session_evaluate(slot->session, problem, &candidate, &terms, verdict);
    set_deadline(slot, 0);
}

/* A problem's contents and a setting's value are the request's responsibility. */
static void judge_request(struct slot *slot, const struct evaluation_request *request,
                          struct verdict *verdict)
{
    const struct worker_options *options = &slot->worker->options;
    struct problem problem = {0};
    struct settings settings;
    struct err err = {0};
    if (request->refused) {
        evaluation_request_refuse(request, request->refused, verdict);
        return;
    }
    if (evaluation_request_settings(request, options->settings, &settings, &err) < 0) {
        evaluation_request_refuse(request, err.text, verdict);
        return;
    }
    if (evaluation_request_problem(request, options->search_paths, &problem, &err) == 0)
        request_evaluate(slot, request, &problem, &settings, verdict);
    else if (request->format ==
             EVALUATION_KNOWN) /* another worker may have it, as the server does */
        evaluation_request_fault(request, err.text, verdict);
    else
        evaluation_request_refuse(request, err.text, verdict);
    problem_deinit(&problem);
    settings_deinit(&settings);
}

void slot_judge(struct slot *slot, struct verdict *verdict)
{
    struct evaluation_request request = {0};
    const struct queue_job *job = &slot->job;
    json_t *object = NULL;
    struct err err = {0};
    if (json_parse("request", job->payload, job->payload_bytes, &object, &err) < 0 ||
        evaluation_request_parse(object, &request, &err) < 0)
        evaluation_request_refuse(&(struct evaluation_request){0}, err.text, verdict);
    else
        judge_request(slot, &request, verdict);
    json_decref(object);
    verdict->id = arena_strdup(&verdict->arena, job->id);
    verdict->stages_ms[STAGE_QUEUE] += waited_ms(job);
}
