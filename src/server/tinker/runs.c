#include "server/tinker/runs.h"

#include "base/mem.h"
#include "lm/train/trainer.h"
#include "server/tinker/body.h"
#include "server/tinker/files.h"
#include "server/tinker/queue.h"
#include "server/tinker/routes.h"
#include "server/tinker/state.h"
#include "server/tinker/table.h"

#include <string.h>

TINKER_TABLE(, tinker_run, tinker_run, runs)

void tinker_runs_close(struct tinker_service *service, const char *session)
{
    for (struct tinker_run *run = service->runs; run; run = run->hh.next)
        run->closed |= strcmp(run->session, session) == 0;
    tinker_queue_wake(service->queue);
}

json_t *tinker_runs_of(const struct tinker_service *service, const char *session)
{
    json_t *ids = json_array();
    for (const struct tinker_run *run = service->runs; run; run = run->hh.next)
        if (strcmp(run->session, session) == 0)
            json_array_append_new(ids, json_string(run->id));
    return ids;
}

/* With the lock: out of the table; NULL: none. */
static struct tinker_run *take_closed(struct tinker_service *service)
{
    struct tinker_run *run = service->runs;
    while (run && !(run->closed && !run->requests))
        run = run->hh.next;
    if (run)
        tinker_run_remove(service, run);
    return run;
}

void tinker_runs_unload_closed(struct tinker_service *service)
{
    for (;;) {
        pthread_mutex_lock(&service->lock);
        struct tinker_run *run = take_closed(service);
        pthread_mutex_unlock(&service->lock);
        if (!run)
            return;
        tinker_run_unload(run);
        tinker_run_unref(run);
    }
}

void tinker_runs_free(struct tinker_service *service)
{
    for (struct tinker_run *run; (run = service->runs);) {
        tinker_run_remove(service, run);
        tinker_queue_drop(run);
        tinker_run_unref(run);
    }
}

struct tinker_run *tinker_run_ref(struct tinker_run *run)
{
    atomic_fetch_add(&run->refs, 1);
    return run;
}

void tinker_run_unload(struct tinker_run *run)
{
    lm_trainer_close(run->trainer);
    lm_model_close(run->model);
    run->trainer = NULL;
    run->model = NULL;
}

void tinker_run_unref(struct tinker_run *run)
{
    if (!run || atomic_fetch_sub(&run->refs, 1) != 1)
        return;
    tinker_run_unload(run);
    json_decref(run->metadata);
    mem_free(run->failed);
    mem_free(run);
}

void tinker_run_close(struct tinker_service *service, struct tinker_run *run)
{
    pthread_mutex_lock(&service->lock);
    run->closed = true;
    pthread_mutex_unlock(&service->lock);
}

int tinker_run_check(const struct tinker_run *run, struct err *err)
{
    if (!run->trainer)
        return err_set(err, ERR_INPUT, "the run could not be created, so it has no weights");
    return run->torn ? err_set(err, ERR_INPUT,
                               "the last checkpoint was loaded only in part: load another")
                     : 0;
}

/* --- unload_model --- */

/* After it nothing of the run is in memory. */
static int unload(struct tinker_service *service, struct tinker_request *request,
                  struct buf *result, struct err *err)
{
    tinker_run_close(service, request->run);
    buf_printf(result, "{\"type\":\"unload_model\",\"model_id\":\"%s\"}", request->run->id);
    return 0;
}

static const struct tinker_operation unload_operation = {"unload_model", TINKER_RESULT_JSON,
                                                         unload};

static void answer_unload_model(void *context, struct http_request *request,
                                struct http_response *response)
{
    tinker_queue_submit_body(context, &unload_operation, request, response);
}

/* --- what runs there are --- */

static json_t *info_json(const struct tinker_service *service, const char *model, json_int_t rank)
{
    return json_pack("{s:s, s:s, s:{s:s, s:s, s:s}, s:b, s:I, s:s}", "type", "get_info", "model_id",
                     model, "model_data", "arch", "transformer", "model_name", service->model,
                     "tokenizer_id", service->tokenizer_id, "is_lora", 1, "lora_rank", rank,
                     "model_name", service->model);
}

static void answer_get_info(void *context, struct http_request *request,
                            struct http_response *response)
{
    struct tinker_service *service = context;
    const json_t *body = tinker_body(request, response);
    const char *model = body ? tinker_word(body, "model_id", response) : NULL;
    if (!model)
        return;
    pthread_mutex_lock(&service->lock);
    const struct tinker_run *run = tinker_run_get(service, model);
    const json_int_t rank = run ? (json_int_t)run->lora.rank : 0;
    pthread_mutex_unlock(&service->lock);
    if (rank > 0)
        http_set_json(response, info_json(service, model, rank));
    else
        http_refuse(response, 404, "not_found", "no run '%.120s' is loaded", model);
}

static json_t *page_of(json_t *all, int64_t limit, int64_t offset, const char *name)
{
    json_t *page = json_array();
    for (int64_t i = offset; i < offset + limit && i < (int64_t)json_array_size(all); i++)
        json_array_append(page, json_array_get(all, (size_t)i));
    json_t *answer = json_pack("{s:o, s:{s:I, s:I, s:I}}", name, page, "cursor", "offset",
                               (json_int_t)offset, "limit", (json_int_t)limit, "total_count",
                               (json_int_t)json_array_size(all));
    json_decref(all);
    return answer;
}

static void answer_list_runs(void *context, struct http_request *request,
                             struct http_response *response)
{
    int64_t limit = 20, offset = 0;
    if (http_query_int(request, "limit", 1, 100000, &limit, response) &&
        http_query_int(request, "offset", 0, INT32_MAX, &offset, response))
        http_set_json(response, page_of(tinker_runs_list(context), limit, offset, "training_runs"));
}

static void answer_list_all_checkpoints(void *context, struct http_request *request,
                                        struct http_response *response)
{
    int64_t limit = 100, offset = 0;
    if (http_query_int(request, "limit", 1, 100000, &limit, response) &&
        http_query_int(request, "offset", 0, INT32_MAX, &offset, response))
        http_set_json(response, page_of(tinker_checkpoints_list(context, NULL), limit, offset,
                                        "checkpoints"));
}

static void answer_show_run(void *context, struct http_request *request,
                            struct http_response *response)
{
    json_t *run = NULL;
    struct err err;
    if (tinker_run_read(context, http_parameter(request, "run"), &run, &err) < 0)
        http_refuse_err(response, &err);
    else
        http_set_json(response, run);
}

const struct http_route tinker_runs_routes[] = {
    TINKER_POST("/unload_model", unload_model, TINKER_SMALL),
    TINKER_POST("/get_info", get_info, TINKER_SMALL),
    TINKER_GET("/training_runs", list_runs),
    TINKER_GET("/training_runs/:run", show_run),
    TINKER_GET("/checkpoints", list_all_checkpoints),
    {0},
};
