#include "policy/tinker_model.h"

#include "base/json.h"
#include "base/mem.h"
#include "policy/tinker_wire.h"

#include <inttypes.h>

static int open_links(struct tinker_model *model, const struct tinker_link_options *options,
                      struct err *err)
{
    struct tinker_link_options shutdown = *options;
    shutdown.shutdown = true;
    shutdown.at_once = 1;
    int result = tinker_link_open(&model->link, options, err);
    return result < 0 ? result : tinker_link_open(&model->shutdown, &shutdown, err);
}

int tinker_model_init(struct tinker_model *model, const struct train_backend_options *options,
                      const char *url, struct err *err)
{
    const struct tinker_link_options link = {.url = url,
                                             .token = &model->token,
                                             .settings = options->settings,
                                             .cancelled = options->cancelled,
                                             .at_once = options->at_once + 2,
                                             .known = options->url_is_known};
    pthread_mutex_init(&model->lock, NULL);
    tinker_token_init(&model->token);
    model->cancelled = options->cancelled;
    model->base = mem_strdup(options->model);
    model->rank = options->lora_rank;
    model->seed = options->seed;
    int result = open_links(model, &link, err);
    if (result == 0)
        result = tinker_session_open(&model->session, model->link, &link, model->base, err);
    if (result == 0)
        result = tinker_server_recognise(&model->server, model->link, options->reduction, err);
    return result;
}

void tinker_model_deinit(struct tinker_model *model)
{
    tinker_model_unload(model);
    tinker_session_close(&model->session);
    tinker_link_close(model->shutdown);
    tinker_link_close(model->link);
    tinker_token_deinit(&model->token);
    pthread_mutex_destroy(&model->lock);
    mem_free(model->base);
}

static void put_lora(struct buf *body, const struct tinker_model *model)
{
    tinker_add_key(body, "lora_config");
    buf_printf(body,
               "{\"rank\":%zu,\"seed\":%" PRIu64 ",\"train_unembed\":true,"
               "\"train_mlp\":true,\"train_attn\":true}",
               model->rank, model->seed & INT32_MAX);
}

static const char create_model[] = "/api/v1/create_model";

/* A request that the server did not take, or may not have taken, is sent again with the same
 * number. */
static int request_model(struct tinker_model *model, struct tinker_link *link, struct err *err)
{
    struct buf body;
    struct tinker_sent sent;
    tinker_begin(&body);
    tinker_add_text(&body, "session_id", model->session.id);
    tinker_add_number(&body, "model_seq_id", model->models);
    tinker_add_text(&body, "base_model", model->base);
    put_lora(&body, model);
    tinker_add_text(&body, "type", "create_model");
    tinker_end(&body);
    const struct tinker_call call = {.method = "POST",
                                     .target = create_model,
                                     .body = &body,
                                     .owned = true};
    int code = tinker_submit(link, &call, &model->future, &sent, err);
    model->models += tinker_was_taken(&sent);
    buf_deinit(&body);
    return code;
}

static void forget_future(struct tinker_model *model)
{
    mem_free(model->future);
    model->future = NULL;
}

/* A future that was not awaited is kept: its model may exist by now. */
static int await_model(struct tinker_model *model, struct tinker_link *link, bool once,
                       struct err *err)
{
    const struct tinker_call call = {.target = create_model, .once = once};
    json_t *result = NULL;
    int code = tinker_await(link, model->future, &call, &result, err);
    if (code == 0)
        code = tinker_read_text(result, "create_model", "model_id", &model->id, err);
    if (code == 0)
        model->number = model->steps = 0;
    if (code != ERR_CANCELLED && code != ERR_TIMEOUT)
        forget_future(model);
    json_decref(result);
    return code;
}

static int create_server_model(struct tinker_model *model, struct tinker_link *link,
                               struct err *err)
{
    int code = model->future ? 0 : request_model(model, link, err);
    return code < 0 ? code : await_model(model, link, false, err);
}

static void clear_unresolved(struct tinker_model *model)
{
    buf_deinit(&model->unresolved.body);
    model->unresolved = (struct tinker_unresolved){0};
}

void tinker_model_unload(struct tinker_model *model)
{
    struct buf body;
    json_t *result = NULL;
    if (model->future)
        (void)!await_model(model, model->shutdown, true, NULL);
    forget_future(model);
    if (!model->id)
        return;
    tinker_begin(&body);
    tinker_add_text(&body, "model_id", model->id);
    tinker_add_text(&body, "type", "unload_model");
    tinker_end(&body);
    const struct tinker_call call = {.method = "POST",
                                     .target = "/api/v1/unload_model",
                                     .body = &body,
                                     .once = true};
    (void)!tinker_do(model->shutdown, &call, &result, NULL, NULL);
    json_decref(result);
    buf_deinit(&body);
    mem_free(model->id);
    model->id = NULL;
    model->passed = false;
    clear_unresolved(model);
}

static struct tinker_call call_of_request(const struct tinker_request *request,
                                          const struct buf *body)
{
    return (struct tinker_call){.method = "POST",
                                .target = request->target,
                                .body = body,
                                .content = request->content,
                                .decode = request->decode,
                                .accepted = request->accepted,
                                .owned = true};
}

/* Its result is dropped. */
static int resend_unresolved(struct tinker_model *model, struct tinker_link *link, struct err *err)
{
    const struct tinker_unresolved *unresolved = &model->unresolved;
    const struct tinker_request request = {.link = link,
                                           .target = unresolved->target,
                                           .accepted = unresolved->accepted,
                                           .content = unresolved->content};
    struct tinker_call call = call_of_request(&request, &unresolved->body);
    struct tinker_sent sent;
    char *id = NULL;
    if (!unresolved->target)
        return 0;
    call.resend = true;
    int result = tinker_submit(link, &call, &id, &sent, err);
    mem_free(id);
    if (sent.unknown)
        return result;
    model->number += tinker_was_taken(&sent);
    clear_unresolved(model);
    return 0;
}

int tinker_model_begin(struct tinker_model *model, const struct tinker_request *request,
                       struct buf *body, struct err *err)
{
    int result = model->torn ? err_set(err, ERR_INPUT,
                                       "a training request failed midway, so the state of the "
                                       "model is unknown: resume from a checkpoint")
                             : 0;
    if (result == 0 && !model->id)
        result = create_server_model(model, request->link, err);
    if (result == 0)
        result = resend_unresolved(model, request->link, err);
    if (result < 0)
        return result;
    if (request->content) {
        buf_init(body, LIMIT_TINKER_BODY_BYTES);
        return 0;
    }
    tinker_begin(body);
    tinker_add_text(body, "model_id", model->id);
    tinker_add_number(body, "seq_id", model->number + 1);
    return 0;
}

int tinker_model_send(struct tinker_model *model, const struct tinker_request *request,
                      struct buf *body, char **id, struct tinker_sent *sent, struct err *err)
{
    struct tinker_sent own;
    sent = sent ? sent : &own;
    *sent = (struct tinker_sent){0};
    *id = NULL;
    if (!request->content)
        tinker_end(body);
    const struct tinker_call call = call_of_request(request, body);
    int result = body->cut ? err_set(err, ERR_LIMIT, "%s: the request is above %zu bytes",
                                     request->target, body->max_bytes)
                           : tinker_submit(request->link, &call, id, sent, err);
    model->number += tinker_was_taken(sent);
    if (sent->unknown)
        model->unresolved = (struct tinker_unresolved){request->target, request->accepted,
                                                       request->content, *body};
    else
        buf_deinit(body);
    return result;
}

int tinker_model_do(struct tinker_model *model, const struct tinker_request *request,
                    struct buf *body, json_t **result, struct tinker_sent *sent, struct err *err)
{
    const struct tinker_call call = call_of_request(request, NULL);
    char *id;
    *result = NULL;
    int code = tinker_model_send(model, request, body, &id, sent, err);
    if (code == 0 && id)
        code = tinker_await(request->link, id, &call, result, err);
    mem_free(id);
    return code;
}
