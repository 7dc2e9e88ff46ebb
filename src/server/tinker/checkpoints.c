#include "server/tinker/checkpoints.h"

#include "base/file.h"
#include "base/mem.h"
#include "lm/train/trainer.h"
#include "server/tinker/body.h"
#include "server/tinker/files.h"
#include "server/tinker/names.h"
#include "server/tinker/routes.h"
#include "server/tinker/runs.h"
#include "server/tinker/samplers.h"
#include "server/tinker/state.h"

#include <inttypes.h>
#include <string.h>

/* Appends {"type", "path"} */
static void put_path(struct buf *result, const char *type, const struct tinker_saved *saved)
{
    buf_printf(result, "{\"type\":\"%s\",\"path\":\"tinker://%s/%s/%s\"}", type, saved->run,
               saved->kind, saved->name);
}

/* The checkpoint that the request names; without a name "NUMBER" of the request. */
static int saved_of_request(const struct tinker_request *request, const char *kind,
                            struct tinker_saved *saved, struct err *err)
{
    const char *name = json_text_at(request->body, "path");
    char *path = name[0] ? mem_printf("tinker://%s/%s/%s", request->run->id, kind, name)
                         : mem_printf("tinker://%s/%s/%06" PRId64, request->run->id, kind,
                                      request->number > 0 ? request->number : 0);
    int result = tinker_saved_parse(saved, path, err);
    mem_free(path);
    return result;
}

/* One that is there is replaced only where the client says so. */
static int check_free(const struct tinker_service *service, const struct tinker_saved *saved,
                      const json_t *body, struct err *err)
{
    if (json_is_true(json_object_get(body, "overwrite")) ||
        tinker_checkpoint_exists(service, saved, err) == ERR_MISSING)
        return 0;
    return err_set(err, ERR_INPUT,
                   "tinker://%s/%s/%s is there already: give another name, or overwrite=true",
                   saved->run, saved->kind, saved->name);
}

/* Under the request's name. A training checkpoint has the optimizer's state, too. */
static int save_named(struct tinker_service *service, struct tinker_request *request,
                      const char *kind, struct buf *result, struct err *err)
{
    const struct tinker_run *run = request->run;
    struct tinker_saved saved;
    int code = saved_of_request(request, kind, &saved, err);
    if (code == 0)
        code = check_free(service, &saved, request->body, err);
    if (code < 0)
        return code;
    char *directory = tinker_saved_directory(service, &saved);
    code = tinker_checkpoint_describe(service, &saved, request->body, err);
    if (code == 0)
        code = kind == tinker_training_kind ? lm_trainer_save(run->trainer, directory, NULL, err)
                                            : lm_model_export(run->model, directory, NULL, err);
    if (code == 0)
        put_path(result, request->operation->name, &saved);
    mem_free(directory);
    return code;
}

/* --- save_weights --- */

static int save_run(struct tinker_service *service, struct tinker_request *request,
                    struct buf *result, struct err *err)
{
    int code = tinker_run_check(request->run, err);
    return code < 0 ? code : save_named(service, request, tinker_training_kind, result, err);
}

static const struct tinker_operation save_operation = {"save_weights", TINKER_RESULT_JSON,
                                                       save_run};

/* --- save_weights_for_sampler --- */

/* The oldest unnamed ones go, so that a long run does not fill the disk. */
static void drop_old(struct tinker_service *service, const struct tinker_run *run)
{
    const uint64_t keep = (uint64_t)tinker_of(service)->unnamed;
    if (run->unnamed <= keep)
        return;
    char *old = tinker_unnamed_directory(service, run->id, run->unnamed - keep);
    file_remove_tree(old);
    mem_free(old);
}

/* "path": null; the sampler is there at once. */
static int save_unnamed(struct tinker_service *service, struct tinker_request *request,
                        struct buf *result, struct err *err)
{
    struct tinker_run *run = request->run;
    char id[TINKER_ID_BYTES];
    char *directory = tinker_unnamed_directory(service, run->id, ++run->unnamed);
    int code = lm_model_export(run->model, directory, NULL, err);
    if (code == 0)
        code = tinker_sampler_create(service, run->session,
                                     tinker_number(request->body, "sampling_session_seq_id"), NULL,
                                     directory, id, err);
    if (code == 0)
        buf_printf(result,
                   "{\"type\":\"save_weights_for_sampler\",\"path\":null,"
                   "\"sampling_session_id\":\"%s\"}",
                   id);
    drop_old(service, run);
    mem_free(directory);
    return code;
}

static int save_sampler(struct tinker_service *service, struct tinker_request *request,
                        struct buf *result, struct err *err)
{
    const char *kind = json_text_at(request->body, "kind");
    int code = tinker_run_check(request->run, err);
    if (code < 0)
        return code;
    if (kind[0] && strcmp(kind, "snapshot") != 0)
        return err_set(err, ERR_UNSUPPORTED,
                       "sampler weights of kind '%.40s' are not known here: snapshot is", kind);
    if (json_text_at(request->body, "path")[0] ||
        tinker_number(request->body, "sampling_session_seq_id") < 0)
        return save_named(service, request, tinker_sampler_kind, result, err);
    return save_unnamed(service, request, result, err);
}

static const struct tinker_operation sampler_operation = {"save_weights_for_sampler",
                                                          TINKER_RESULT_JSON, save_sampler};

/* --- save_weights_external --- */

/* An adapter as PEFT reads it, whose files have addresses of their own. */
static int save_external(struct tinker_service *service, struct tinker_request *request,
                         struct buf *result, struct err *err)
{
    int code = tinker_run_check(request->run, err);
    if (code == 0 &&
        json_array_size(json_object_get(request->body, "age_encryption_recipients")) > 0)
        code = err_set(err, ERR_UNSUPPORTED,
                       "'age_encryption_recipients': files are not encrypted here; leave it out");
    return code < 0 ? code : save_named(service, request, tinker_external_kind, result, err);
}

static const struct tinker_operation external_operation = {"save_weights_external",
                                                           TINKER_RESULT_JSON, save_external};

/* --- load_weights --- */

static int load_run(struct tinker_service *service, struct tinker_request *request,
                    struct buf *result, struct err *err)
{
    struct tinker_run *run = request->run;
    const char *path = json_text_at(request->body, "path");
    const bool optimizer = json_is_true(json_object_get(request->body, "optimizer"));
    struct tinker_saved saved;
    int code = run->trainer ? 0 : tinker_run_check(run, err);
    if (code == 0)
        code = tinker_saved_parse(&saved, path, err);
    if (code == 0 && strcmp(saved.kind, tinker_training_kind) != 0)
        code = err_set(err, ERR_INPUT,
                       "'%.200s' are weights of a sampler: load a training checkpoint, "
                       "tinker://RUN/weights/NAME",
                       path);
    if (code == 0)
        code = tinker_checkpoint_exists(service, &saved, err);
    if (code < 0)
        return code;
    char *directory = tinker_saved_directory(service, &saved);
    run->torn = true;
    code = lm_trainer_load(run->trainer, directory, optimizer, NULL, err);
    run->torn = code < 0;
    mem_free(directory);
    if (code == 0)
        buf_printf(result, "{\"type\":\"load_weights\",\"model_id\":\"%s\",\"path\":\"%s\"}",
                   run->id, path);
    return code;
}

const struct tinker_operation tinker_load_operation = {"load_weights", TINKER_RESULT_JSON,
                                                       load_run};

/* --- handlers --- */

static void answer_save_weights(void *context, struct http_request *request,
                                struct http_response *response)
{
    tinker_queue_submit_body(context, &save_operation, request, response);
}

static void answer_save_for_sampler(void *context, struct http_request *request,
                                    struct http_response *response)
{
    tinker_queue_submit_body(context, &sampler_operation, request, response);
}

static void answer_save_external(void *context, struct http_request *request,
                                 struct http_response *response)
{
    tinker_queue_submit_body(context, &external_operation, request, response);
}

static void answer_weights_info(void *context, struct http_request *request,
                                struct http_response *response)
{
    const json_t *body = tinker_body(request, response);
    struct tinker_saved saved;
    json_t *run = NULL;
    struct err err;
    if (!body)
        return;
    int result = tinker_saved_parse(&saved, json_text_at(body, "tinker_path"), &err);
    if (result == 0)
        result = tinker_checkpoint_exists(context, &saved, &err);
    if (result == 0)
        result = tinker_run_read(context, saved.run, &run, &err);
    if (result < 0)
        http_refuse_err(response, &err);
    else
        http_set_json(response, run); /* base_model, is_lora, lora_rank, train_… */
}

static void answer_list_checkpoints(void *context, struct http_request *request,
                                    struct http_response *response)
{
    const char *run = http_parameter(request, "run");
    json_t *record = NULL;
    struct err err;
    if (tinker_run_read(context, run, &record, &err) < 0)
        http_refuse_err(response, &err);
    else
        http_set_json(response,
                      json_pack("{s:o}", "checkpoints", tinker_checkpoints_list(context, run)));
    json_decref(record);
}

static void answer_delete_checkpoint(void *context, struct http_request *request,
                                     struct http_response *response)
{
    struct tinker_saved saved;
    struct err err;
    if (!tinker_saved_of(&saved, request, response))
        return;
    if (tinker_checkpoint_delete(context, &saved, &err) < 0)
        http_refuse_err(response, &err);
    else
        http_set_status(response, 204);
}

static void answer_set_ttl(void *context, struct http_request *request,
                           struct http_response *response)
{
    struct tinker_saved saved;
    struct err err;
    const json_t *body = tinker_body(request, response);
    if (!body || !tinker_saved_of(&saved, request, response))
        return;
    if (tinker_checkpoint_expire(context, &saved, json_object_get(body, "ttl_seconds"), &err) < 0)
        http_refuse_err(response, &err);
    else
        http_set_json(response, json_object());
}

const struct http_route tinker_checkpoints_routes[] = {
    TINKER_POST("/save_weights", save_weights, TINKER_SMALL),
    TINKER_POST("/save_weights_for_sampler", save_for_sampler, TINKER_SMALL),
    TINKER_POST("/save_weights_external", save_external, TINKER_SMALL),
    TINKER_POST("/weights_info", weights_info, TINKER_SMALL),
    TINKER_GET("/training_runs/:run/checkpoints", list_checkpoints),
    {HTTP_DELETE, TINKER_CHECKPOINT, answer_delete_checkpoint, HTTP_BLOCKS, TINKER_SMALL, NULL},
    {HTTP_PUT, TINKER_CHECKPOINT "/ttl", answer_set_ttl, HTTP_BLOCKS, TINKER_SMALL, NULL},
    {0},
};
