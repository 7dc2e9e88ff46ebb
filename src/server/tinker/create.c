/* Making a run: create_model, and load_weights in its place. */
#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "lm/train/trainer.h"
#include "server/tinker/body.h"
#include "server/tinker/checkpoints.h"
#include "server/tinker/files.h"
#include "server/tinker/names.h"
#include "server/tinker/queue.h"
#include "server/tinker/routes.h"
#include "server/tinker/runs.h"
#include "server/tinker/sessions.h"
#include "server/tinker/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MLP_TARGETS (1U << LM_LORA_GATE | 1U << LM_LORA_UP | 1U << LM_LORA_DOWN)
#define ATTENTION_TARGETS (1U << LM_LORA_Q | 1U << LM_LORA_K | 1U << LM_LORA_V | 1U << LM_LORA_O)

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
    tinker_run_close(service, run);
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
        code = tinker_load_operation.run(service, request, result, err);
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

/* With a session instead of a run it makes one, with the adapter of the checkpoint. */
static void answer_load_weights(void *context, struct http_request *request,
                                struct http_response *response)
{
    json_t *body = tinker_body(request, response);
    if (!body)
        return;
    if (!json_object_get(body, "session_id")) {
        tinker_queue_submit_body(context, &tinker_load_operation, request, response);
        return;
    }
    const char *session = tinker_word(body, "session_id", response);
    if (session)
        create(context, body, session, &from_operation, response);
}

const struct http_route tinker_create_routes[] = {
    TINKER_POST("/create_model", create_model, TINKER_SMALL),
    TINKER_POST("/load_weights", load_weights, TINKER_SMALL),
    {0},
};
