/* workers: the workers, and the queue's statistics. */
#include "base/json.h"
#include "server/internal.h"

static void workers_get(void *context, struct http_request *request, struct http_response *response)
{
    struct service *service = context;
    json_t *answer = json_object();
    json_put(answer, "workers", worker_registry_json(service->workers));
    http_set_json(response, answer);
}

static json_t *stats_json(const struct queue_stats *stats)
{
    json_t *object = json_object(), *queued = json_object(), *ended = json_object();
    for (int i = 0; i < QUEUE_PRIORITIES; i++)
        json_put(queued, evaluation_priority_name((enum queue_priority)i),
                 json_pack("{s:I, s:I}", "depth", (json_int_t)stats->priorities[i].depth,
                           "oldest_ms", (json_int_t)stats->priorities[i].oldest_ms));
    for (size_t i = 0; i < stats->ended_count; i++)
        json_put(ended, stats->ended[i].outcome, json_integer((json_int_t)stats->ended[i].count));
    json_put(object, "queued", queued);
    json_put(object, "running", json_integer((json_int_t)stats->running));
    json_put(object, "kept", json_integer((json_int_t)stats->kept));
    json_put(object, "ended", ended);
    json_put(object, "lost_leases", json_integer((json_int_t)stats->lost_leases));
    return object;
}

static void stats_get(void *context, struct http_request *request, struct http_response *response)
{
    struct service *service = context;
    struct queue_stats now;
    struct err err;
    if (queue_stats(service->queue, &now, &err) < 0)
        service_refuse_queue(response, &err);
    else
        http_set_json(response, stats_json(&now));
}

const struct http_route api_workers_routes[] = {
    {HTTP_GET, "/v1/workers", workers_get, 0, 0, NULL},
    {HTTP_GET, "/v1/stats", stats_get, HTTP_BLOCKS, 0, NULL},
    {0},
};
