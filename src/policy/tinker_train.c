#include "policy/tinker_train.h"

#include "base/array.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "policy/tinker_proto.h"
#include "policy/tinker_wire.h"

#include <math.h>
#include <string.h>

/* Marks the model torn after a failure. */
static int mark_torn(struct tinker_model *model, int result)
{
    model->torn |= result < 0;
    return result;
}

/* A part of a pass that was sent. */
struct chunk {
    char *id;
    size_t count; /* of its datums */
};

/* Forward passes have a place of their own in JSON, and a flag in protocol buffers. */
static struct tinker_request request_of(const struct tinker_model *model,
                                        const struct tinker_pass *pass)
{
    const bool json = model->passes == TINKER_PASSES_JSON;
    return (struct tinker_request){.link = model->link,
                                   .target = json && !pass->gradients ? "/api/v1/forward"
                                                                      : "/api/v1/forward_backward",
                                   .content = json ? NULL : TINKER_PROTOBUF,
                                   .decode = tinker_proto_read_pass};
}

/* How many datums from the first make one chunk. */
static size_t count_chunk(const struct tinker_model *model, const struct lm_datum *datums,
                          size_t count)
{
    size_t taken = 0, bytes = 0;
    while (taken < count && taken < model->session.chunk_count) {
        bytes += tinker_datum_bytes(&datums[taken]);
        if (taken > 0 && bytes > model->session.chunk_bytes)
            break;
        taken++;
    }
    return taken;
}

static void put_pass(struct buf *body, const struct tinker_model *model, bool gradients,
                     const struct tinker_wire_pass *wire)
{
    if (model->passes != TINKER_PASSES_JSON) {
        tinker_proto_put_pass(body, model->id, model->number + 1, gradients, wire);
        return;
    }
    tinker_add_key(body, gradients ? "forward_backward_input" : "forward_input");
    tinker_put_pass(body, wire);
}

static int send_wire_pass(struct tinker_model *model, const struct tinker_pass *pass,
                          const struct tinker_wire_pass *wire, char **id, struct tinker_sent *sent,
                          struct err *err)
{
    const struct tinker_request request = request_of(model, pass);
    struct buf body;
    *sent = (struct tinker_sent){0};
    int result = tinker_model_begin(model, &request, &body, err);
    if (result < 0)
        return result;
    put_pass(&body, model, pass->gradients, wire);
    return tinker_model_send(model, &request, &body, id, sent, err);
}

/* A server that does not know the encoding, or that finds fault with the pass. */
static bool is_refusal(const struct tinker_sent *sent)
{
    return !sent->unknown && (sent->status == 400 || sent->status == 415 || sent->status == 422);
}

/* The first pass shows which encoding the server has. */
static int send_first(struct tinker_model *model, const struct tinker_pass *pass,
                      const struct tinker_wire_pass *wire, char **id, struct err *err)
{
    struct tinker_sent sent;
    struct err first, second;
    int result = send_wire_pass(model, pass, wire, id, &sent, &first);
    if (result == 0)
        model->passes = TINKER_PASSES_PROTO;
    if (result == 0 || !is_refusal(&sent)) {
        if (result < 0 && err)
            *err = first;
        return result;
    }
    model->passes = TINKER_PASSES_JSON;
    result = send_wire_pass(model, pass, wire, id, &sent, &second);
    if (result == 0) {
        log_event(LOG_LEVEL_INFO, "policy", "the server takes passes in JSON", "why", first.text,
                  NULL);
        return 0;
    }
    model->passes = TINKER_PASSES_UNKNOWN;
    return err_set(err, result, "%.400s; and as JSON: %.400s", first.text, second.text);
}

static int send_chunk(struct tinker_model *model, const struct tinker_pass *pass,
                      const struct lm_datum *datums, size_t whole, struct chunk *chunk,
                      struct err *err)
{
    struct tinker_wire_pass wire = {pass->loss, &pass->config, datums, chunk->count};
    struct tinker_mean mean = {0};
    struct tinker_sent sent;
    if (pass->gradients && model->server.mean) {
        tinker_mean_init(&mean, pass->loss, &pass->config, datums, chunk->count, whole);
        wire = (struct tinker_wire_pass){mean.loss, &mean.config, mean.datums, chunk->count};
    }
    int result = model->passes == TINKER_PASSES_UNKNOWN
                     ? send_first(model, pass, &wire, &chunk->id, err)
                     : send_wire_pass(model, pass, &wire, &chunk->id, &sent, err);
    tinker_mean_deinit(&mean);
    return result;
}

/* Computes the loss here, from the server's log-probabilities. */
static int read_datum_result(const struct tinker_pass *pass, const json_t *result, size_t index,
                             struct lm_datum *datum, struct loss_sums *sums, struct err *err)
{
    float *logprob = datum->logprob ? datum->logprob : mem_alloc(datum->count * sizeof *logprob);
    int code = tinker_read_logprobs(result, index, logprob, datum->count, err);
    if (code == 0) {
        const struct loss_input input = {.count = datum->count,
                                         .targets_per_row = 1,
                                         .logprob = logprob,
                                         .weights = datum->weights,
                                         .sampled = datum->sampled,
                                         .advantages = datum->advantages};
        struct loss_sums own;
        loss_apply(pass->loss, &pass->config, &input, NULL, &own);
        loss_sums_add(sums, &own);
    }
    for (size_t i = 0; datum->entropy && i < datum->count; i++)
        datum->entropy[i] = NAN;
    for (size_t i = 0; datum->collision && i < datum->count; i++)
        datum->collision[i] = NAN;
    if (logprob != datum->logprob)
        mem_free(logprob);
    return code;
}

static int await_chunk(struct tinker_model *model, const struct tinker_pass *pass,
                       const struct chunk *chunk, struct lm_datum *datums, struct loss_sums *sums,
                       struct err *err)
{
    const struct tinker_request request = request_of(model, pass);
    const struct tinker_call call = {.target = request.target, .decode = request.decode};
    json_t *result = NULL;
    int code = tinker_await(request.link, chunk->id, &call, &result, err);
    if (code == 0)
        code = tinker_server_check(&model->server, result, err);
    for (size_t i = 0; i < chunk->count && code == 0; i++)
        code = read_datum_result(pass, result, i, &datums[i], sums, err);
    json_decref(result);
    return code;
}

int tinker_train_pass(struct tinker_model *model, const struct tinker_pass *pass,
                      struct lm_datum *datums, size_t count, struct loss_sums *sums,
                      struct err *err)
{
    struct chunk *chunks = mem_alloc((count + 1) * sizeof *chunks);
    size_t sent = 0;
    int result = 0;
    if (pass->gradients && model->passed && model->server.mean)
        result = err_set(err, ERR_UNSUPPORTED,
                         "the server averages the gradients of a step over its passes: make one "
                         "pass a step");
    model->passed |= pass->gradients;
    for (size_t at = 0; at < count && result == 0; at += chunks[sent++].count) {
        chunks[sent].count = count_chunk(model, datums + at, count - at);
        result = send_chunk(model, pass, datums + at, count, &chunks[sent], err);
    }
    for (size_t i = 0, at = 0; i < sent && result == 0; at += chunks[i++].count)
        result = await_chunk(model, pass, &chunks[i], datums + at, sums, err);
    for (size_t i = 0; i < sent; i++)
        mem_free(chunks[i].id);
    mem_free(chunks);
    return pass->gradients ? mark_torn(model, result) : result;
}

int tinker_train_step(struct tinker_model *model, const struct lm_adam *adam, double *norm,
                      struct err *err)
{
    const struct tinker_request request = {.link = model->link,
                                           .target = "/api/v1/optim_step",
                                           .accepted = 0};
    struct buf body;
    json_t *found = NULL;
    int result = tinker_model_begin(model, &request, &body, err);
    if (result < 0)
        return mark_torn(model, result);
    tinker_add_key(&body, "adam_params");
    buf_printf(&body,
               "{\"learning_rate\":%.17g,\"beta1\":%.17g,\"beta2\":%.17g,"
               "\"eps\":%.17g,\"weight_decay\":%.17g,\"grad_clip_norm\":%.17g}",
               adam->rate, adam->beta1, adam->beta2, adam->epsilon, adam->decay, adam->clip);
    tinker_add_text(&body, "type", "optim_step");
    result = tinker_model_do(model, &request, &body, &found, NULL, err);
    if (result == 0)
        result = tinker_server_check(&model->server, found, err);
    if (result == 0) {
        model->passed = false;
        model->steps++;
        *norm = tinker_read_norm(found);
    }
    json_decref(found);
    return mark_torn(model, result);
}

#define NAMES 9 /* tried when a checkpoint's name is taken */

static int read_path(const json_t *result, char **where, struct err *err)
{
    struct tinker_path path = {0};
    char *text = NULL;
    int code = tinker_read_text(result, "save_weights", "path", &text, err);
    if (code == 0 && tinker_path_parse(&path, text, NULL) < 0)
        code = err_set(err, ERR_PROTOCOL,
                       "the server saved a checkpoint as '%.200s', which is "
                       "not a checkpoint path",
                       text);
    tinker_path_deinit(&path);
    if (code == 0)
        *where = text;
    else
        mem_free(text);
    return code;
}

/* *taken: the server has a checkpoint of that name. */
static int save_under_name(struct tinker_model *model, struct tinker_link *link, const char *name,
                           bool *taken, char **where, struct err *err)
{
    const struct tinker_request request = {.link = link,
                                           .target = "/api/v1/save_weights",
                                           .accepted = 409};
    struct buf body;
    struct tinker_sent sent;
    json_t *result = NULL;
    int code = tinker_model_begin(model, &request, &body, err);
    if (code < 0)
        return code;
    tinker_add_text(&body, "path", name);
    tinker_add_text(&body, "type", "save_weights");
    code = tinker_model_do(model, &request, &body, &result, &sent, err);
    *taken = code == 0 && sent.status == 409;
    if (code == 0 && !*taken)
        code = read_path(result, where, err);
    json_decref(result);
    return code;
}

/* The same weights in the form that can be downloaded, under the same name. A checkpoint without
 * them is good for resuming. */
static int save_twin(struct tinker_model *model, struct tinker_link *link, const char *name,
                     struct err *err)
{
    const struct tinker_request request = {.link = link,
                                           .target = "/api/v1/save_weights_for_sampler",
                                           .accepted = 409};
    struct buf body;
    json_t *result = NULL;
    struct err why;
    int code = tinker_model_begin(model, &request, &body, &why);
    if (code == 0) {
        tinker_add_text(&body, "path", name);
        tinker_add_text(&body, "type", "save_weights_for_sampler");
        code = tinker_model_do(model, &request, &body, &result, NULL, &why);
    }
    json_decref(result);
    if (code < 0 && code != ERR_CANCELLED)
        log_event(LOG_LEVEL_WARN, "policy", "a checkpoint cannot be exported", "name", name, "why",
                  why.text, NULL);
    return code == ERR_CANCELLED ? err_set(err, code, "%s", why.text) : 0;
}

/* An earlier request whose response was lost may have taken the name. That checkpoint may be
 * incomplete, so retry under a new name. */
static int save_over_link(struct tinker_model *model, struct tinker_link *link, const char *name,
                          char **where, struct err *err)
{
    bool taken = true;
    int result = 0;
    for (unsigned i = 0; i < NAMES && taken && result == 0; i++) {
        char *plain = tinker_name(name, i);
        result = save_under_name(model, link, plain, &taken, where, err);
        if (result == 0 && !taken)
            result = save_twin(model, link, plain, err);
        mem_free(plain);
    }
    if (result == 0 && taken)
        result = err_set(err, ERR_INPUT, "the server has a checkpoint '%.100s' already", name);
    return result;
}

int tinker_checkpoint_save(struct tinker_model *model, const char *name, char **where,
                           struct err *err)
{
    const bool over = model->cancelled && *model->cancelled;
    int result = over ? ERR_CANCELLED : save_over_link(model, model->link, name, where, err);
    return result == ERR_CANCELLED ? save_over_link(model, model->shutdown, name, where, err)
                                   : result;
}

/* The next model gets the checkpoint's rank. */
static int read_checkpoint_info(struct tinker_model *model, const char *where, struct err *err)
{
    struct buf body;
    json_t *answer = NULL;
    tinker_begin(&body);
    tinker_add_text(&body, "tinker_path", where);
    tinker_end(&body);
    const struct tinker_call call = {.method = "POST",
                                     .target = "/api/v1/weights_info",
                                     .body = &body};
    int result = tinker_send(model->link, &call, &answer, NULL, err);
    const char *base = json_text_at(answer, "base_model");
    const json_t *rank = json_object_get(answer, "lora_rank");
    if (result == 0 && base[0] && strcmp(base, model->base) != 0)
        result = err_set(err, ERR_INPUT, "%.200s belongs to the model '%.100s', not to '%.100s'",
                         where, base, model->base);
    if (result == 0 && json_is_integer(rank) && json_integer_value(rank) > 0)
        model->rank = (size_t)json_integer_value(rank);
    json_decref(answer);
    buf_deinit(&body);
    return result;
}

static int load_weights(struct tinker_model *model, const char *where, bool optimizer,
                        struct err *err)
{
    const struct tinker_request request = {.link = model->link,
                                           .target = "/api/v1/load_weights",
                                           .accepted = 0};
    struct buf body;
    json_t *found;
    int result = tinker_model_begin(model, &request, &body, err);
    if (result < 0)
        return result;
    tinker_add_text(&body, "path", where);
    tinker_add_key(&body, "optimizer");
    buf_puts(&body, optimizer ? "true" : "false");
    tinker_add_text(&body, "type", "load_weights");
    result = tinker_model_do(model, &request, &body, &found, NULL, err);
    json_decref(found);
    return result;
}

int tinker_checkpoint_load(struct tinker_model *model, struct tinker_sampler *sampler,
                           const char *where, bool optimizer, struct err *err)
{
    struct tinker_path path;
    int result = tinker_path_parse(&path, where, err);
    tinker_path_deinit(&path);
    if (result == 0)
        result = read_checkpoint_info(model, where, err);
    if (result < 0)
        return result;
    tinker_model_unload(model); /* some servers hold one model at a time */
    tinker_sampler_forget(sampler);
    model->torn = false;
    result = load_weights(model, where, optimizer, err);
    model->torn = result < 0; /* an empty model must not be trained either */
    return result;
}

int tinker_checkpoint_forget(struct tinker_model *model, const char *where, struct err *err)
{
    static const char *const kinds[] = {"sampler_weights", "weights"};
    struct tinker_path path;
    int result = tinker_path_parse(&path, where, err);
    for (size_t i = 0; i < COUNT(kinds) && result == 0; i++) {
        json_t *answer = NULL;
        char *target = mem_printf("/api/v1/training_runs/%s/checkpoints/%s/%s", path.run, kinds[i],
                                  path.name);
        const struct tinker_call call = {.method = "DELETE", .target = target, .accepted = 404};
        result = tinker_send(model->link, &call, &answer, NULL, err);
        mem_free(target);
        json_decref(answer);
    }
    tinker_path_deinit(&path);
    return result;
}
