#include "policy/tinker_sampler.h"

#include "base/json.h"
#include "base/mem.h"
#include "policy/tinker_proto.h"
#include "policy/tinker_wire.h"

#include <inttypes.h>

#define LOST_FUTURES_MAX 3 /* futures of one sample that a server may lose */

void tinker_sampler_init(struct tinker_sampler *sampler, struct tinker_model *model,
                         const struct tokens *stops)
{
    pthread_mutex_init(&sampler->lock, NULL);
    sampler->model = model;
    sampler->stop_count = stops->count;
    for (size_t i = 0; i < stops->count; i++)
        sampler->stops[i] = stops->ids[i];
}

/* SkyRL never deletes the copy of weights that a sampler came from. Best effort. */
static void remove_kept(struct tinker_sampler *sampler)
{
    const struct tinker_call call = {.method = "DELETE", .target = sampler->kept, .once = true};
    json_t *answer = NULL;
    if (!sampler->kept)
        return;
    (void)!tinker_send(sampler->model->shutdown, &call, &answer, NULL, NULL);
    json_decref(answer);
    mem_free(sampler->kept);
    sampler->kept = NULL;
}

void tinker_sampler_deinit(struct tinker_sampler *sampler)
{
    remove_kept(sampler);
    mem_free(sampler->id);
    pthread_mutex_destroy(&sampler->lock);
}

/* Takes `id`. */
static void set_id(struct tinker_sampler *sampler, char *id)
{
    pthread_mutex_lock(&sampler->lock);
    mem_free(sampler->id);
    sampler->id = id;
    pthread_mutex_unlock(&sampler->lock);
}

void tinker_sampler_forget(struct tinker_sampler *sampler)
{
    set_id(sampler, NULL);
}

static char *copy_id(struct tinker_sampler *sampler)
{
    pthread_mutex_lock(&sampler->lock);
    char *id = sampler->id ? mem_strdup(sampler->id) : NULL;
    pthread_mutex_unlock(&sampler->lock);
    return id;
}

/* The server named the saved weights instead of creating the sampler: create it. */
static int create_sampling_session(struct tinker_sampler *sampler, const char *path, char **id,
                                   struct err *err)
{
    struct buf body;
    struct tinker_sent sent;
    json_t *answer = NULL;
    tinker_begin(&body);
    tinker_add_text(&body, "session_id", sampler->model->session.id);
    tinker_add_number(&body, "sampling_session_seq_id", sampler->samplers);
    tinker_add_text(&body, "model_path", path);
    tinker_add_text(&body, "type", "create_sampling_session");
    tinker_end(&body);
    const struct tinker_call call = {.method = "POST",
                                     .target = "/api/v1/create_sampling_session",
                                     .body = &body,
                                     .owned = true};
    int result = tinker_send(sampler->model->link, &call, &answer, &sent, err);
    sampler->samplers += sent.unknown || tinker_was_taken(&sent);
    if (result == 0)
        result = tinker_read_text(answer, "create_sampling_session", "sampling_session_id", id,
                                  err);
    json_decref(answer);
    buf_deinit(&body);
    return result;
}

static int read_frozen(struct tinker_sampler *sampler, const json_t *result, char **id,
                       struct err *err)
{
    const char *found = json_text_at(result, "sampling_session_id");
    const char *path = json_text_at(result, "path");
    if (found[0]) {
        *id = mem_strdup(found);
        return 0;
    }
    if (path[0])
        return create_sampling_session(sampler, path, id, err);
    return err_set(err, ERR_PROTOCOL,
                   "the server's answer to save_weights_for_sampler names no sampler");
}

/* Under the name that SkyRL gives to an unnamed copy (its API, save_weights_for_sampler). */
static char *skyrl_copy(const struct tinker_model *model, uint64_t sampler)
{
    return mem_printf("/api/v1/training_runs/%s/checkpoints/sampler_weights/ss%" PRIu64
                      "_seq%" PRIu64,
                      model->id, sampler, model->number + 1);
}

int tinker_sampler_freeze(struct tinker_sampler *sampler, struct err *err)
{
    struct tinker_model *model = sampler->model;
    const struct tinker_request request = {.link = model->link,
                                           .target = "/api/v1/save_weights_for_sampler",
                                           .accepted = 0};
    struct buf body;
    struct tinker_sent sent;
    json_t *result = NULL;
    char *id = NULL;
    int code = tinker_model_begin(model, &request, &body, err);
    if (code < 0)
        return code;
    tinker_add_number(&body, "sampling_session_seq_id", sampler->samplers);
    tinker_add_text(&body, "type", "save_weights_for_sampler");
    char *kept = model->server.skyrl ? skyrl_copy(model, sampler->samplers) : NULL;
    code = tinker_model_do(model, &request, &body, &result, &sent, err);
    sampler->samplers += sent.unknown || tinker_was_taken(&sent);
    if (code == 0)
        code = read_frozen(sampler, result, &id, err);
    if (code == 0) {
        set_id(sampler, id);
        remove_kept(sampler);
        sampler->kept = kept;
        kept = NULL;
    }
    mem_free(kept);
    json_decref(result);
    return code;
}

static int find_id(struct tinker_sampler *sampler, char **id, struct err *err)
{
    int result = 0;
    *id = copy_id(sampler);
    if (*id)
        return 0;
    pthread_mutex_lock(&sampler->model->lock);
    *id = copy_id(sampler); /* another thread may have set it meanwhile */
    if (!*id)
        result = tinker_sampler_freeze(sampler, err);
    if (!*id && result == 0)
        *id = copy_id(sampler);
    pthread_mutex_unlock(&sampler->model->lock);
    return result;
}

static int request_sample(struct tinker_sampler *sampler, struct tinker_question *question,
                          struct train_backend_answer *answer, struct err *err)
{
    struct buf body;
    json_t *found = NULL;
    question->number = sampler->questions++;
    tinker_begin(&body);
    tinker_add_sample(&body, question);
    tinker_end(&body);
    const struct tinker_call call = {.method = "POST",
                                     .target = "/api/v1/asample",
                                     .body = &body,
                                     .decode = tinker_proto_read_sample,
                                     .owned = true};
    int result = tinker_do(sampler->model->link, &call, &found, NULL, err);
    if (result == 0)
        result = tinker_read_sample(found, question->sampling->max_tokens, answer, err);
    json_decref(found);
    buf_deinit(&body);
    return result;
}

int tinker_sampler_sample(struct tinker_sampler *sampler, const struct tokens *prompt,
                          const struct train_backend_sampling *sampling,
                          struct train_backend_answer *answer, struct err *err)
{
    char *id;
    int result = find_id(sampler, &id, err);
    if (result < 0)
        return result;
    struct tinker_question question = {.prompt = prompt,
                                       .sampling = sampling,
                                       .stops = sampler->stops,
                                       .stop_count = sampler->stop_count,
                                       .sampler = id};
    result = ERR_MISSING;
    for (unsigned lost = 0; lost < LOST_FUTURES_MAX && result == ERR_MISSING; lost++)
        result = request_sample(sampler, &question, answer, err);
    mem_free(id);
    return result;
}
