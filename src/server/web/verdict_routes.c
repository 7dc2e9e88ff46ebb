/* verdict_routes: the leaderboard, violations, clocks of devices, and the source of a candidate. */
#include "base/json.h"
#include "base/limits.h"
#include "server/web/internal.h"
#include "server/web/verdict_reader.h"

#include <string.h>

#define PROBLEMS_STANDARD 100
#define VIOLATIONS_STANDARD 100

/* Starts it at the first request: a server whose dashboard is not looked at reads no verdicts. */
static struct verdict_reader *request_verdicts(struct web *web, struct http_response *response)
{
    struct err err;
    int result = 0;
    pthread_mutex_lock(&web->lock);
    if (!web->verdicts && !web->quit)
        result = verdict_reader_open(&web->verdicts, web->queue, &err);
    struct verdict_reader *reader = web->verdicts;
    pthread_mutex_unlock(&web->lock);
    if (result < 0)
        http_refuse_err(response, &err);
    else if (!reader)
        http_refuse_for(response, 503, 2, "stopping", "the server is stopping");
    return reader;
}

static void leaderboard_get(void *context, struct http_request *request,
                            struct http_response *response)
{
    int64_t from = 0, limit = PROBLEMS_STANDARD;
    size_t matched;
    if (!http_query_int(request, "from", 0, UINT32_MAX, &from, response) ||
        !http_query_int(request, "limit", 1, LIMIT_WEB_ROWS, &limit, response))
        return;
    struct verdict_reader *reader = request_verdicts(context, response);
    if (!reader)
        return;
    json_t *answer = json_object();
    json_t *problems = verdict_table_problems(verdict_reader_table(reader),
                                              http_query(request, "search"), (size_t)from,
                                              (size_t)limit, &matched);
    verdict_reader_release(reader);
    json_put(answer, "progress", verdict_reader_progress(reader));
    json_put(answer, "matched", json_integer((json_int_t)matched));
    json_put(answer, "problems", problems);
    http_set_json(response, answer);
}

static void leaders_get(void *context, struct http_request *request, struct http_response *response)
{
    struct verdict_reader *reader = request_verdicts(context, response);
    const char *name = http_parameter(request, "problem");
    if (!reader)
        return;
    json_t *answer = verdict_table_problem(verdict_reader_table(reader), name);
    verdict_reader_release(reader);
    if (!answer) {
        http_refuse(response, 404, "missing", "no verdict of problem '%.100s' has been read", name);
        return;
    }
    json_put(answer, "progress", verdict_reader_progress(reader));
    http_set_json(response, answer);
}

static void violations_get(void *context, struct http_request *request,
                           struct http_response *response)
{
    int64_t limit = VIOLATIONS_STANDARD;
    if (!http_query_int(request, "limit", 1, VERDICT_VIOLATIONS, &limit, response))
        return;
    struct verdict_reader *reader = request_verdicts(context, response);
    if (!reader)
        return;
    json_t *answer = json_object();
    json_put(answer, "violations",
             verdict_table_violations(verdict_reader_table(reader), (size_t)limit));
    verdict_reader_release(reader);
    json_put(answer, "progress", verdict_reader_progress(reader));
    http_set_json(response, answer);
}

static void devices_get(void *context, struct http_request *request, struct http_response *response)
{
    struct verdict_reader *reader = request_verdicts(context, response);
    if (!reader)
        return;
    json_t *answer = json_object();
    json_put(answer, "devices", verdict_table_devices(verdict_reader_table(reader)));
    verdict_reader_release(reader);
    json_put(answer, "progress", verdict_reader_progress(reader));
    http_set_json(response, answer);
}

/* The candidate of a job as it was submitted: untrusted text. */
static void candidate_get(void *context, struct http_request *request,
                          struct http_response *response)
{
    struct web *web = context;
    struct queue_job job;
    struct err err;
    json_t *payload = NULL;
    int result = queue_get(web->queue, http_parameter(request, "id"), QUEUE_PAYLOAD, &job, &err);
    if (result < 0) {
        http_refuse_err(response, &err);
        return;
    }
    result = json_parse("the job", job.payload ? job.payload : "", job.payload_bytes, &payload,
                        &err);
    if (result < 0) {
        http_refuse(response, 404, "missing", "the queue does not keep the candidate");
    } else {
        json_t *answer = json_object();
        const json_t *candidate = json_object_get(payload, "candidate");
        json_put(answer, "id", json_text(job.id));
        json_put(answer, "name", json_text(json_text_at(candidate, "name")));
        json_put(answer, "language", json_text(json_text_at(candidate, "language")));
        json_put(answer, "source", json_text(json_text_at(candidate, "source")));
        http_set_json(response, answer);
    }
    json_decref(payload);
    queue_job_deinit(&job);
}

const struct http_route web_verdict_routes[] = {
    {HTTP_GET, "/v1/leaderboard", leaderboard_get, HTTP_BLOCKS, 0,
     HTTP_QUERY("search", "from", "limit")},
    {HTTP_GET, "/v1/leaderboard/*problem", leaders_get, HTTP_BLOCKS, 0, HTTP_NO_QUERY},
    {HTTP_GET, "/v1/violations", violations_get, HTTP_BLOCKS, 0, HTTP_QUERY("limit")},
    {HTTP_GET, "/v1/devices", devices_get, HTTP_BLOCKS, 0, HTTP_NO_QUERY},
    {HTTP_GET, "/v1/evaluations/:id/candidate", candidate_get, HTTP_BLOCKS, 0, HTTP_NO_QUERY},
    {0},
};
