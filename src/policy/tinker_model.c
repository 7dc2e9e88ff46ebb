#include "policy/tinker_model.h"

#include "base/json.h"
#include "base/mem.h"
#include "policy/tinker_wire.h"

#include <inttypes.h>

/* -------------------------------------------------------------------------------------- opening */

static int open_links(struct tinker_model *model, const struct tinker_link_options *options,
                      struct err *err)
{
    struct tinker_link_options parting = *options;
    parting.parting = true;
    parting.at_once = 1;
    int result = tinker_link_open(&model->link, options, err);
    return result < 0 ? result : tinker_link_open(&model->parting, &parting, err);
}

int tinker_model_init(struct tinker_model *model, const struct train_backend_options *options,
                      const char *url, struct err *err)
{
    const struct tinker_link_options link = {.url = url,
                                             .settings = options->settings,
                                             .cancelled = options->cancelled,
                                             .at_once = options->at_once + 2};
    pthread_mutex_init(&model->lock, NULL);
    model->cancelled = options->cancelled;
    model->base = mem_strdup(options->model);
    model->rank = options->lora_rank;
    model->seed = options->seed;
    int result = open_links(model, &link, err);
    if (result == 0)
        result = tinker_session_open(&model->session, model->link, &link, model->base, err);
    return result;
}

void tinker_model_deinit(struct tinker_model *model)
{
    tinker_model_unload(model);
    tinker_session_close(&model->session);
    tinker_link_close(model->parting);
    tinker_link_close(model->link);
    pthread_mutex_destroy(&model->lock);
    mem_free(model->base);
}

/* -------------------------------------------------------------------------------- its existence */

static void put_lora(struct buf *body, const struct tinker_model *model)
{
    tinker_add_key(body, "lora_config");
    buf_printf(body,
               "{\"rank\":%zu,\"seed\":%" PRIu64 ",\"train_unembed\":true,"
               "\"train_mlp\":true,\"train_attn\":true}",
               model->rank, model->seed & INT32_MAX);
}

static const char create_model[] = "/api/v1/create_model";

/* What the server did not take, or may not have taken, is asked for with the same number again. */
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
                                     .ours = true};
    int code = tinker_submit(link, &call, &model->promise, &sent, err);
    model->models += tinker_was_taken(&sent);
    buf_deinit(&body);
    return code;
}

static void forget_promise(struct tinker_model *model)
{
    mem_free(model->promise);
    model->promise = NULL;
}

/* A promise that was not waited out is kept: there may be a model of it yet. */
static int await_model(struct tinker_model *model, struct tinker_link *link, bool once,
                       struct err *err)
{
    const struct tinker_call call = {.target = create_model, .once = once};
    json_t *result = NULL;
    int code = tinker_await(link, model->promise, &call, &result, err);
    if (code == 0)
        code = tinker_read_text(result, "create_model", "model_id", &model->id, err);
    if (code == 0)
        model->number = model->steps = 0;
    if (code != ERR_CANCELLED && code != ERR_TIMEOUT)
        forget_promise(model);
    json_decref(result);
    return code;
}

static int create(struct tinker_model *model, struct tinker_link *link, struct err *err)
{
    int code = model->promise ? 0 : request_model(model, link, err);
    return code < 0 ? code : await_model(model, link, false, err);
}

static void forget_debt(struct tinker_model *model)
{
    buf_deinit(&model->debt.body);
    model->debt = (struct tinker_debt){0};
}

void tinker_model_unload(struct tinker_model *model)
{
    struct buf body;
    json_t *result = NULL;
    if (model->promise)
        (void)!await_model(model, model->parting, true, NULL);
    forget_promise(model);
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
    (void)!tinker_do(model->parting, &call, &result, NULL, NULL);
    json_decref(result);
    buf_deinit(&body);
    mem_free(model->id);
    model->id = NULL;
    forget_debt(model);
}

/* ------------------------------------------------------------------------------------- requests */

static struct tinker_call call_of(const struct tinker_request *request, const struct buf *body)
{
    return (struct tinker_call){.method = "POST",
                                .target = request->target,
                                .body = body,
                                .fine = request->fine,
                                .ours = true};
}

/* What comes of it nobody waits for any more. */
static int settle_debt(struct tinker_model *model, struct tinker_link *link, struct err *err)
{
    const struct tinker_debt *debt = &model->debt;
    const struct tinker_request request = {link, debt->target, debt->fine};
    struct tinker_call call = call_of(&request, &debt->body);
    struct tinker_sent sent;
    char *id = NULL;
    if (!debt->target)
        return 0;
    call.again = true;
    int result = tinker_submit(link, &call, &id, &sent, err);
    mem_free(id);
    if (sent.unknown)
        return result;
    model->number += tinker_was_taken(&sent);
    forget_debt(model);
    return 0;
}

int tinker_model_begin(struct tinker_model *model, const struct tinker_request *request,
                       struct buf *body, struct err *err)
{
    int result = model->torn ? err_set(err, ERR_INPUT,
                                       "a request to train failed in its middle, so that nobody "
                                       "knows what the model holds: go on from a checkpoint")
                             : 0;
    if (result == 0 && !model->id)
        result = create(model, request->link, err);
    if (result == 0)
        result = settle_debt(model, request->link, err);
    if (result < 0)
        return result;
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
    tinker_end(body);
    if (body->cut)
        return err_set(err, ERR_LIMIT, "%s: more than one request can hold (%zu bytes)",
                       request->target, body->max_bytes);
    const struct tinker_call call = call_of(request, body);
    int result = tinker_submit(request->link, &call, id, sent, err);
    model->number += tinker_was_taken(sent);
    if (sent->unknown) {
        model->debt = (struct tinker_debt){request->target, request->fine, *body};
        *body = (struct buf){0};
    }
    return result;
}

int tinker_model_do(struct tinker_model *model, const struct tinker_request *request,
                    struct buf *body, json_t **result, struct tinker_sent *sent, struct err *err)
{
    const struct tinker_call call = call_of(request, NULL);
    char *id;
    *result = NULL;
    int code = tinker_model_send(model, request, body, &id, sent, err);
    if (code == 0 && id)
        code = tinker_await(request->link, id, &call, result, err);
    mem_free(id);
    return code;
}
