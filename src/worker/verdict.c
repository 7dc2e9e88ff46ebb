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

/* Adds the time in the queue. */
static json_t *with_waiting(json_t *verdict, const struct queue_job *job)
{
    json_t *stages = json_object_get(verdict, "stages_ms");
    double queued_ms = json_number_value(json_object_get(stages, "queue"));
    if (stages)
        json_put(stages, "queue", json_number(queued_ms + waited_ms(job)));
    return verdict;
}

static void set_deadline(struct slot *slot, int64_t timeout_ms)
{
    pthread_mutex_lock(&slot->worker->lock);
    slot->deadline_ns = timeout_ms > 0 ? clock_now_ns() + timeout_ms * 1000000 : 0;
    pthread_mutex_unlock(&slot->worker->lock);
}

static json_t *request_evaluate(struct slot *slot, const struct evaluation_request *request,
                                const struct problem *problem, const struct settings *settings)
{
    struct candidate candidate = {.path = request->candidate_name,
                                  .text = request->candidate_source,
                                  .bytes = strlen(request->candidate_source)};
    struct evaluation_terms terms = {.settings = settings,
                                     .stopped = &slot->stop,
                                     .no_timing = !request->timing};
    struct verdict verdict;
    set_deadline(slot, request->timeout_ms);
    session_evaluate(slot->session, problem, &candidate, &terms, &verdict);
    set_deadline(slot, 0);
    json_t *json = verdict_json(&verdict);
    verdict_deinit(&verdict);
    return json;
}

/* A problem's contents and a setting's value are the request's responsibility. */
static json_t *judge_request(struct slot *slot, const struct evaluation_request *request)
{
    const struct worker_options *options = &slot->worker->options;
    struct problem problem = {0};
    struct settings settings;
    struct err err = {0};
    json_t *verdict = NULL;
    if (request->refused)
        return evaluation_request_refusal(request, request->refused);
    if (evaluation_request_settings(request, options->settings, &settings, &err) < 0)
        return evaluation_request_refusal(request, err.text);
    if (evaluation_request_problem(request, options->search_paths->items,
                                   options->search_paths->count, &problem, &err) == 0)
        verdict = request_evaluate(slot, request, &problem, &settings);
    /* another worker may have it, as the server does */
    else if (request->format == EVALUATION_KNOWN)
        verdict = evaluation_request_fault(request, err.text);
    else
        verdict = evaluation_request_refusal(request, err.text);
    problem_deinit(&problem);
    settings_deinit(&settings);
    return verdict;
}

json_t *slot_judge(struct slot *slot)
{
    struct evaluation_request request = {0};
    const struct queue_job *job = &slot->job;
    json_t *object = NULL;
    json_t *verdict;
    struct err err = {0};
    if (json_parse("request", job->payload, job->payload_bytes, &object, &err) < 0 ||
        evaluation_request_parse(object, &request, &err) < 0)
        verdict = evaluation_request_refusal(&(struct evaluation_request){.id = job->id}, err.text);
    else
        verdict = judge_request(slot, &request);
    json_decref(object);
    json_put(verdict, "id", json_text(job->id));
    return with_waiting(verdict, job);
}
