#include "base/clock.h"
#include "base/limits.h"
#include "server/tinker/internal.h"
#include "server/tinker/routes.h"

#include <inttypes.h>
#include <string.h>

#include <utlist.h>

#define MLP_TARGETS (1U << LM_LORA_GATE | 1U << LM_LORA_UP | 1U << LM_LORA_DOWN)
#define ATTENTION_TARGETS (1U << LM_LORA_Q | 1U << LM_LORA_K | 1U << LM_LORA_V | 1U << LM_LORA_O)

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

int tinker_run_check(const struct tinker_run *run, struct err *err)
{
    if (!run->trainer)
        return err_set(err, ERR_INPUT, "the run could not be created, so it has no weights");
    return run->torn ? err_set(err, ERR_INPUT,
                               "the last checkpoint was loaded only in part: load another")
                     : 0;
}

/* --- create_model, and load_weights in its place --- */

static int open_run(struct tinker_service *service, struct tinker_run *run, struct err *err)
{
    const struct lm_model_options model = {.training = LM_TRAIN_ADAPTER,
                                           .lora = run->lora,
                                           .seed = run->seed};
    const struct tinker_settings *settings = tinker_of(service);
    int code = lm_model_attach(&run->model, service->options.base, service->training, &model, err);
    if (code == 0) {
        const int64_t rows = settings->batch_tokens;
        const struct lm_trainer_options trainer = {
            .batch_tokens = rows > 0 ? (size_t)rows : run->model->positions,
            .recompute = settings->recompute,
        };
        code = lm_trainer_open(&run->trainer, run->model, &trainer, err);
    }
    return code < 0 ? code : tinker_run_write(service, run, err);
}

/* One that could not be created is gone at once. */
static int end_open(struct tinker_service *service, struct tinker_run *run, int code)
{
    if (code == 0)
        return 0;
    tinker_run_unload(run);
    pthread_mutex_lock(&service->lock);
    run->closed = true;
    pthread_mutex_unlock(&service->lock);
    return code;
}

static int create_run(struct tinker_service *service, struct tinker_request *request,
                      struct buf *result, struct err *err)
{
    int code = open_run(service, request->run, err);
    if (code == 0)
        buf_printf(result, "{\"type\":\"create_model\",\"model_id\":\"%s\"}", request->run->id);
    return end_open(service, request->run, code);
}

static const struct tinker_operation create_operation = {"create_model", TINKER_RESULT_JSON,
                                                         create_run};

/* As SDKs since 0.38 make a run from a checkpoint. */
static int create_from_checkpoint(struct tinker_service *service, struct tinker_request *request,
                                  struct buf *result, struct err *err)
{
    int code = open_run(service, request->run, err);
    if (code == 0)
        code = tinker_load_run(service, request, result, err);
    return end_open(service, request->run, code);
}

static const struct tinker_operation from_operation = {"load_weights", TINKER_RESULT_JSON,
                                                       create_from_checkpoint};

static bool flag_of(const json_t *object, const char *key)
{
    return !json_is_false(json_object_get(object, key));
}

static void set_lora(const struct tinker_service *service, struct tinker_run *run, size_t rank)
{
    run->lora = (struct lm_lora){.rank = rank,
                                 .alpha = tinker_of(service)->alpha,
                                 .targets = (run->mlp ? MLP_TARGETS : 0) |
                                            (run->attention ? ATTENTION_TARGETS : 0)};
    snprintf(run->lora.base_model, sizeof run->lora.base_model, "%s", service->model);
}

static int check_optimizer(const json_t *body, struct err *err)
{
    const char *optimizer = json_text_at(json_object_get(body, "optimizer_config"), "type");
    return !optimizer[0] || strcmp(optimizer, "adamw") == 0
               ? 0
               : err_set(err, ERR_UNSUPPORTED, "the optimiser '%.60s' is not known here: adamw is",
                         optimizer);
}

/* The unembedding has no adapter in this engine: train_unembed is read as false, which
 * create_session says. */
static int read_lora(const struct tinker_service *service, struct tinker_run *run,
                     const json_t *body, struct err *err)
{
    const json_t *lora = json_object_get(body, "lora_config");
    const json_t *rank = json_object_get(lora, "rank"), *seed = json_object_get(lora, "seed");
    const json_int_t number = json_is_integer(rank) ? json_integer_value(rank) : 0;
    run->mlp = flag_of(lora, "train_mlp");
    run->attention = flag_of(lora, "train_attn");
    if (number < 1 || number > LIMIT_LM_RANK)
        return err_set(err, ERR_INPUT,
                       "lora_config.rank must be 1 to %d: this server trains adapters",
                       LIMIT_LM_RANK);
    if (!run->mlp && !run->attention)
        return err_set(err, ERR_INPUT, "lora_config trains neither train_mlp nor train_attn");
    set_lora(service, run, (size_t)number);
    run->seed = json_is_integer(seed) ? (uint64_t)json_integer_value(seed) : clock_secret();
    return check_optimizer(body, err);
}

/* The adapter of a checkpoint's run. */
static int read_lora_of(const struct tinker_service *service, struct tinker_run *run,
                        const json_t *body, struct err *err)
{
    struct tinker_saved saved;
    json_t *record = NULL;
    int result = check_optimizer(body, err);
    if (result == 0)
        result = tinker_saved_parse(&saved, json_text_at(body, "path"), err);
    if (result == 0)
        result = tinker_checkpoint_exists(service, &saved, err);
    if (result == 0)
        result = tinker_run_read(service, saved.run, &record, err);
    if (result < 0)
        return result;
    run->mlp = flag_of(record, "train_mlp");
    run->attention = flag_of(record, "train_attn");
    set_lora(service, run, (size_t)json_integer_value(json_object_get(record, "lora_rank")));
    if (strcmp(json_text_at(record, "base_model"), service->model) != 0)
        result = err_set(err, ERR_INPUT, "the checkpoint is of '%.200s'; this server has '%.200s'",
                         json_text_at(record, "base_model"), service->model);
    json_decref(record);
    return result;
}

static int check_base(const struct tinker_service *service, const json_t *body, struct err *err)
{
    const char *base = json_text_at(body, "base_model");
    return strcmp(base, service->model) == 0
               ? 0
               : err_set(err, ERR_MISSING, "no base model '%.200s'; this server has '%.200s'", base,
                         service->model);
}

/* With the lock: refused, or in the table. */
static bool add_run(struct tinker_service *service, struct tinker_run *run,
                    struct http_response *response)
{
    const int64_t most = tinker_of(service)->max_runs;
    if (!tinker_session_find(service, run->session)) {
        http_refuse(response, 404, "not_found",
                    "no session '%.120s': it ended; make a new ServiceClient", run->session);
        return false;
    }
    if (HASH_COUNT(service->runs) >= (size_t)most) {
        http_refuse_for(response, 429, TINKER_RETRY_S, "busy",
                        "%" PRId64 " runs are loaded, as many as tinker.max_runs allows: end one, "
                        "or wait until its session expires",
                        most);
        return false;
    }
    tinker_run_put(service, run);
    return true;
}

/* Takes the run, whose adapter is known, into the table, unless an earlier one of the same number
 * is there; false: refused. *id is its id then. */
static bool register_run(struct tinker_service *service, struct tinker_run *run, const json_t *body,
                         char id[TINKER_ID_BYTES], struct http_response *response)
{
    int64_t number = tinker_number(body, "model_seq_id");
    pthread_mutex_lock(&service->lock);
    if (number < 0)
        number = (int64_t)(1000000000 + ++service->serial);
    snprintf(run->id, sizeof run->id, "%.100s:train:%" PRId64, run->session, number);
    snprintf(id, TINKER_ID_BYTES, "%s", run->id);
    run->metadata = json_deep_copy(json_object_get(body, "user_metadata"));
    run->created_ms = clock_wall_ms();
    const bool found = tinker_run_get(service, run->id) != NULL;
    const bool added = !found && add_run(service, run, response);
    pthread_mutex_unlock(&service->lock);
    if (!added)
        tinker_run_unref(run);
    return added || found;
}

static void create(struct tinker_service *service, json_t *body, const char *session,
                   const struct tinker_operation *operation, struct http_response *response)
{
    struct tinker_run *run = mem_alloc(sizeof *run);
    char id[TINKER_ID_BYTES];
    struct err err;
    atomic_init(&run->refs, 1);
    snprintf(run->session, sizeof run->session, "%s", session);
    int result = operation == &create_operation ? check_base(service, body, &err) : 0;
    if (result == 0)
        result = (operation == &create_operation ? read_lora : read_lora_of)(service, run, body,
                                                                             &err);
    if (result < 0) {
        http_refuse_err(response, &err);
        tinker_run_unref(run);
    } else if (register_run(service, run, body, id, response)) {
        tinker_queue_submit(service, operation, id, 0, body, NULL, NULL, response);
    }
}

static void answer_create_model(void *context, struct http_request *request,
                                struct http_response *response)
{
    json_t *body = tinker_body(request, response);
    const char *session = body ? tinker_word(body, "session_id", response) : NULL;
    if (session)
        create(context, body, session, &create_operation, response);
}

void tinker_create_from(struct tinker_service *service, json_t *body,
                        struct http_response *response)
{
    const char *session = tinker_word(body, "session_id", response);
    if (session)
        create(service, body, session, &from_operation, response);
}

/* --- unload_model --- */

/* After it nothing of the run is in memory. */
static int unload(struct tinker_service *service, struct tinker_request *request,
                  struct buf *result, struct err *err)
{
    struct tinker_run *run = request->run;
    pthread_mutex_lock(&service->lock);
    run->closed = true;
    pthread_mutex_unlock(&service->lock);
    buf_printf(result, "{\"type\":\"unload_model\",\"model_id\":\"%s\"}", run->id);
    return 0;
}

static const struct tinker_operation unload_operation = {"unload_model", TINKER_RESULT_JSON,
                                                         unload};

static void answer_unload_model(void *context, struct http_request *request,
                                struct http_response *response)
{
    const json_t *body = tinker_body(request, response);
    const char *model = body ? tinker_word(body, "model_id", response) : NULL;
    if (model)
        tinker_queue_submit(context, &unload_operation, model, tinker_number(body, "seq_id"), NULL,
                            NULL, NULL, response);
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
    TINKER_POST("/create_model", create_model, TINKER_SMALL),
    TINKER_POST("/unload_model", unload_model, TINKER_SMALL),
    TINKER_POST("/get_info", get_info, TINKER_SMALL),
    TINKER_GET("/training_runs", list_runs),
    TINKER_GET("/training_runs/:run", show_run),
    TINKER_GET("/checkpoints", list_all_checkpoints),
    {0},
};
