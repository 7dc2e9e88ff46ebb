#include "policy/tinker_train.h"

#include "base/mem.h"
#include "policy/tinker_wire.h"

#include <math.h>

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

static struct tinker_request request_of(const struct tinker_model *model,
                                        const struct tinker_pass *pass)
{
    return (struct tinker_request){.link = model->link,
                                   .target = pass->gradients ? "/api/v1/forward_backward"
                                                             : "/api/v1/forward"};
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

static int send_chunk(struct tinker_model *model, const struct tinker_pass *pass,
                      const struct lm_datum *datums, struct chunk *chunk, struct err *err)
{
    const struct tinker_request request = request_of(model, pass);
    struct buf body;
    int result = tinker_model_begin(model, &request, &body, err);
    if (result < 0)
        return result;
    tinker_add_key(&body, pass->gradients ? "forward_backward_input" : "forward_input");
    tinker_put_pass(&body, pass->loss, &pass->config, datums, chunk->count);
    result = tinker_model_send(model, &request, &body, &chunk->id, NULL, err);
    buf_deinit(&body);
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
        pass->loss->apply(&pass->config, &input, NULL, &own);
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
    const struct tinker_call call = {.target = request.target};
    json_t *result = NULL;
    int code = tinker_await(request.link, chunk->id, &call, &result, err);
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
    for (size_t at = 0; at < count && result == 0; at += chunks[sent++].count) {
        chunks[sent].count = count_chunk(model, datums + at, count - at);
        result = send_chunk(model, pass, datums + at, &chunks[sent], err);
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
    const struct tinker_request request = {model->link, "/api/v1/optim_step", 0};
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
    if (result == 0) {
        model->steps++;
        *norm = tinker_read_norm(found);
    }
    json_decref(found);
    buf_deinit(&body);
    return mark_torn(model, result);
}
