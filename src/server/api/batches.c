/* batches: many evaluations in one commit, followed as one.
 *
 * A job belongs to the batch that it was first put with. An existing job (joined, answered) is
 * named in the answer of the POST, which waits for it too, but stays in its own batch. */
#include "server/api/batches.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "judge/request/request.h"
#include "server/long_poll.h"
#include "server/submit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void batch_counts_add(struct batch_counts *counts, const struct queue_job *job)
{
    counts->count++;
    if ((unsigned)job->state < QUEUE_STATES)
        counts->states[job->state]++;
    if (!evaluation_has_ended(job))
        return;
    size_t i = 0;
    while (i < counts->outcome_count && strcmp(counts->outcomes[i].name, job->outcome) != 0)
        i++;
    if (i == QUEUE_OUTCOMES_MAX)
        return;
    if (i == counts->outcome_count) {
        counts->outcome_count++;
        snprintf(counts->outcomes[i].name, sizeof counts->outcomes[i].name, "%s", job->outcome);
    }
    counts->outcomes[i].count++;
}

bool batch_counts_ended(const struct batch_counts *counts)
{
    return counts->states[QUEUE_QUEUED] + counts->states[QUEUE_RUNNING] == 0;
}

json_t *batch_counts_json(const char *id, const struct batch_counts *counts)
{
    json_t *object = json_object(), *states = json_object(), *outcomes = json_object();
    for (int i = 0; i < QUEUE_STATES; i++)
        json_put(states, queue_state_name((enum queue_state)i),
                 json_integer((json_int_t)counts->states[i]));
    for (size_t i = 0; i < counts->outcome_count; i++)
        json_put(outcomes, counts->outcomes[i].name,
                 json_integer((json_int_t)counts->outcomes[i].count));
    json_put(object, "id", json_text(id));
    json_put(object, "count", json_integer((json_int_t)counts->count));
    json_put(object, "states", states);
    json_put(object, "outcomes", outcomes);
    return object;
}

int batch_each(struct service *service, const char *id,
               void (*each)(void *context, const struct queue_job *job), void *context,
               struct err *err)
{
    struct queue_filter filter = {.state = QUEUE_ANY_STATE, .batch = id};
    struct queue_job *jobs = mem_alloc(LIMIT_QUEUE_LIST_JOBS * sizeof *jobs);
    size_t count, all = 0;
    int result;
    do {
        result = queue_list(service->queue, &filter, jobs, LIMIT_QUEUE_LIST_JOBS, &count, err);
        for (size_t i = 0; result == 0 && i < count; i++)
            each(context, &jobs[i]);
        all += result == 0 ? count : 0;
        if (result == 0 && count > 0)
            filter.before = jobs[count - 1].sequence;
    } while (result == 0 && count == LIMIT_QUEUE_LIST_JOBS);
    mem_free(jobs);
    if (result == 0 && all == 0)
        return err_set(err, ERR_MISSING, "no batch '%.255s'", id);
    return result;
}

struct members {
    char id[QUEUE_ID_BYTES];
    struct submitted jobs;
};

static void members_free(void *context)
{
    struct members *members = context;
    submitted_deinit(&members->jobs);
    mem_free(members);
}

static void answer_post(struct service *service, void *context, bool ended,
                        struct http_response *response)
{
    const struct members *members = context;
    struct batch_counts counts = {0};
    struct err err;
    json_t *items = json_array();
    for (size_t i = 0; i < members->jobs.count; i++) {
        struct queue_job job;
        int result = queue_get(service->queue, members->jobs.ids[i], QUEUE_NO_BODIES, &job, &err);
        if (result < 0 && result != ERR_MISSING) {
            service_refuse_queue(response, &err);
            json_decref(items);
            return;
        }
        if (result == 0)
            batch_counts_add(&counts, &job);
        json_array_append_new(items, json_pack("{s:o, s:s}", "id", json_text(members->jobs.ids[i]),
                                               "submission", members->jobs.results[i]));
    }
    json_t *object = batch_counts_json(members->id, &counts);
    json_put(object, "evaluations", items);
    http_set_status(response, ended || batch_counts_ended(&counts) ? 200 : 202);
    http_set_json(response, object);
}

static bool read_batch(json_t *body, const char **id, json_t **items,
                       struct http_response *response)
{
    static const char *const keys[] = {"id", "evaluations"};
    struct err err;
    int result = json_check_keys(body, keys, 2, &err);
    if (result == 0)
        result = json_find_string(body, "id", id, &err);
    if (result == 0 && *id && (!evaluation_is_id(*id) || strchr(*id, '/')))
        result = err_set(&err, ERR_INPUT,
                         "'id' must have 1 to %d bytes, without control characters and '/'",
                         LIMIT_JOB_ID_BYTES);
    if (result == 0)
        result = json_get_array(body, "evaluations", items, &err);
    if (result == 0 && (json_array_size(*items) == 0 || json_array_size(*items) > LIMIT_BATCH_JOBS))
        result = err_set(&err, ERR_INPUT, "'evaluations' must have 1 to %d items",
                         LIMIT_BATCH_JOBS);
    if (result < 0)
        http_refuse(response, 400, "bad_request", "%s", err.text);
    return result == 0;
}

static void batches_post(void *context, struct http_request *request,
                         struct http_response *response)
{
    struct service *service = context;
    char drawn[QUEUE_ID_BYTES];
    const char *id = NULL;
    json_t *items = NULL, *body;
    int64_t wait_ms;
    if (!service_wait_ms(request, 0, response, &wait_ms) ||
        !(body = http_json(request, response)) || !read_batch(body, &id, &items, response))
        return;
    snprintf(drawn, sizeof drawn, "%016" PRIx64 "%016" PRIx64, clock_secret(), clock_secret());
    const struct submit_options options = {.numbered = true,
                                           .path_ids = true,
                                           .batch = id ? id : drawn};
    struct members *members = mem_alloc(sizeof *members);
    bool put = submit_all(service, items, &options, &members->jobs, response);
    snprintf(members->id, sizeof members->id, "%s", options.batch);
    if (put && wait_ms > 0) {
        const struct long_poll waiting = {.ids = members->jobs.ids,
                                          .count = members->jobs.count,
                                          .timeout_ms = wait_ms,
                                          .answer = answer_post,
                                          .release = members_free,
                                          .context = members};
        long_poll_begin(service, request, &waiting);
        return;
    }
    if (put)
        answer_post(service, members, false, response);
    members_free(members);
}

struct batch_query {
    char id[QUEUE_ID_BYTES];
    bool evaluations;
};

struct gathering {
    struct batch_counts counts;
    struct queue_job *jobs; /* NULL: only counts are needed */
    size_t capacity;
};

static void gather_member(void *context, const struct queue_job *job)
{
    struct gathering *gathering = context;
    if (gathering->jobs) {
        if (gathering->counts.count == gathering->capacity) {
            gathering->capacity *= 2;
            gathering->jobs = mem_resize(gathering->jobs,
                                         gathering->capacity * sizeof *gathering->jobs);
        }
        gathering->jobs[gathering->counts.count] = *job;
    }
    batch_counts_add(&gathering->counts, job);
}

/* Newest first, without verdicts. */
static json_t *list_members(struct service *service, const struct gathering *gathering)
{
    json_t *items = json_array();
    for (size_t i = 0; i < gathering->counts.count; i++) {
        struct evaluation_json *view;
        struct err err;
        struct buf text;
        json_t *item = NULL;
        if (evaluation_json_of(service->evaluation_jsons, service->queue, &gathering->jobs[i],
                               &view, &err) < 0)
            continue;
        buf_init(&text, LIMIT_QUEUE_BODY_BYTES);
        evaluation_json_write(view, false, NULL, &text);
        if (json_parse("evaluation", text.data, text.len, &item, &err) == 0)
            json_array_append_new(items, item);
        buf_deinit(&text);
        evaluation_json_unref(view);
    }
    return items;
}

static void answer_query(struct service *service, void *context, bool ended,
                         struct http_response *response)
{
    const struct batch_query *batch_query = context;
    struct gathering gathering = {.capacity = LIMIT_BATCH_JOBS};
    struct err err;
    if (batch_query->evaluations)
        gathering.jobs = mem_alloc(gathering.capacity * sizeof *gathering.jobs);
    if (batch_each(service, batch_query->id, gather_member, &gathering, &err) < 0) {
        service_refuse_queue(response, &err);
    } else {
        json_t *object = batch_counts_json(batch_query->id, &gathering.counts);
        if (batch_query->evaluations)
            json_put(object, "evaluations", list_members(service, &gathering));
        http_set_json(response, object);
    }
    mem_free(gathering.jobs);
}

struct ids {
    char (*items)[QUEUE_ID_BYTES];
    size_t count, capacity;
};

static void gather_open(void *context, const struct queue_job *job)
{
    struct ids *ids = context;
    if (evaluation_has_ended(job))
        return;
    if (ids->count == ids->capacity) {
        ids->capacity = ids->capacity ? 2 * ids->capacity : 64;
        ids->items = mem_resize(ids->items, ids->capacity * sizeof *ids->items);
    }
    snprintf(ids->items[ids->count++], QUEUE_ID_BYTES, "%s", job->id);
}

static void wait_for_batch(struct service *service, const struct batch_query *batch_query,
                           int64_t wait_ms, struct http_request *request,
                           struct http_response *response)
{
    struct ids open = {0};
    struct err err;
    if (batch_each(service, batch_query->id, gather_open, &open, &err) < 0) {
        service_refuse_queue(response, &err);
        mem_free(open.items);
        return;
    }
    struct batch_query *kept = mem_alloc(sizeof *kept);
    *kept = *batch_query;
    const struct long_poll waiting = {.ids = open.items,
                                      .count = open.count,
                                      .timeout_ms = wait_ms,
                                      .answer = answer_query,
                                      .release = mem_free,
                                      .context = kept};
    if (open.count > 0) {
        long_poll_begin(service, request, &waiting);
    } else {
        answer_query(service, kept, true, response);
        mem_free(kept);
    }
    mem_free(open.items);
}

static bool read_id(const struct http_request *request, char id[QUEUE_ID_BYTES],
                    struct http_response *response)
{
    const char *given = http_parameter(request, "id");
    if (strlen(given) < QUEUE_ID_BYTES) {
        snprintf(id, QUEUE_ID_BYTES, "%s", given);
        return true;
    }
    http_refuse(response, 404, "not_found", "no batch has that id");
    return false;
}

static void batches_get(void *context, struct http_request *request, struct http_response *response)
{
    struct service *service = context;
    struct batch_query batch_query = {.evaluations = false};
    int64_t wait_ms;
    if (!service_wait_ms(request, 0, response, &wait_ms) ||
        !http_query_bool(request, "evaluations", &batch_query.evaluations, response) ||
        !read_id(request, batch_query.id, response))
        return;
    if (wait_ms > 0)
        wait_for_batch(service, &batch_query, wait_ms, request, response);
    else
        answer_query(service, &batch_query, false, response);
}

static void batches_cancel(void *context, struct http_request *request,
                           struct http_response *response)
{
    struct service *service = context;
    struct ids open = {0};
    struct batch_query batch_query = {.evaluations = false};
    struct err err;
    if (!read_id(request, batch_query.id, response))
        return;
    int result = batch_each(service, batch_query.id, gather_open, &open, &err);
    for (size_t i = 0; result == 0 && i < open.count; i++) {
        enum queue_state state;
        result = service_cancel(service, open.items[i], &state, &err);
        result = result == ERR_MISSING ? 0 : result;
    }
    mem_free(open.items);
    if (result < 0) {
        service_refuse_queue(response, &err);
        return;
    }
    answer_query(service, &batch_query, false, response);
    http_set_status(response, 202);
}

const struct http_route api_batches_routes[] = {
    {HTTP_POST, "/v1/batches", batches_post, HTTP_BLOCKS, HTTP_BODY_STANDARD, HTTP_QUERY("wait_s")},
    {HTTP_GET, "/v1/batches/:id", batches_get, HTTP_BLOCKS, 0, HTTP_QUERY("wait_s", "evaluations")},
    {HTTP_DELETE, "/v1/batches/:id", batches_cancel, HTTP_BLOCKS, 0, NULL},
    {0},
};
