#include "lm/model/pass.h"

#include "base/mem.h"
#include "lm/model/apply.h"
#include "lm/model/layer.h"
#include "lm/model/value.h"

#include <string.h>

#define HEAD_BYTES ((size_t)64 << 20) /* of logits at once, by default */
#define HEAD_ROWS_LEAST ((size_t)16)

/* Of the head's blocks: what has as many numbers for a row as there are targets. */
struct targets {
    size_t capacity; /* numbers in each array */
    int32_t *ids;    /* the backend's, like all until `host` */
    float *logprob, *dlogprob;
    float *host_logprob, *host_dlogprob;
};

struct lm_pass {
    struct lm_pass_options options;
    struct lm_flow flow;
    void *memory; /* all arrays of flow */
    struct targets targets;
    float *entropy, *dentropy, *collision; /* the host's [head_rows] */
    int32_t *positions;                    /* the host's [rows] */
};

static struct lm_pass_options filled(const struct lm_model *model,
                                     const struct lm_pass_options *options)
{
    struct lm_pass_options result = *options;
    if (result.head_rows == 0) {
        result.head_rows = HEAD_BYTES /
                           (model->config.vocab * lm_dtype_bytes(model->backend->dtype));
        if (result.head_rows < HEAD_ROWS_LEAST)
            result.head_rows = HEAD_ROWS_LEAST;
    }
    if (result.head_rows > result.rows)
        result.head_rows = result.rows;
    return result;
}

uint64_t lm_pass_bytes(const struct lm_model *model, const struct lm_pass_options *options)
{
    struct lm_pass_options all = filled(model, options);
    return lm_activations_bytes(model, &all);
}

int lm_pass_open(struct lm_pass **out, struct lm_model *model,
                 const struct lm_pass_options *options, struct err *err)
{
    *out = NULL;
    if (options->rows == 0 || options->rows > INT32_MAX)
        return err_set(err, ERR_INPUT, "a pass over %zu tokens; 1 to %d are possible",
                       options->rows, INT32_MAX);
    if (options->backward && lm_model_trained(model) == 0)
        return err_set(err, ERR_INPUT, "nothing of the model is trained: no gradients to compute");
    struct lm_pass *pass = mem_alloc(sizeof *pass);
    struct lm_layer_arrays *layers = mem_alloc(model->config.layers * sizeof *layers);
    pass->options = filled(model, options);
    pass->flow = (struct lm_flow){.model = model, .all.layers = layers};
    int result = lm_backend_alloc(model->backend, lm_activations_bytes(model, &pass->options),
                                  "the activations of a batch", &pass->memory, err);
    if (result < 0) {
        lm_pass_close(pass);
        return result;
    }
    lm_activations_carve(&pass->flow.all, layers, model, &pass->options, pass->memory);
    pass->entropy = mem_alloc(pass->options.head_rows * sizeof *pass->entropy);
    pass->dentropy = mem_alloc(pass->options.head_rows * sizeof *pass->dentropy);
    pass->collision = mem_alloc(pass->options.head_rows * sizeof *pass->collision);
    pass->positions = mem_alloc(pass->options.rows * sizeof *pass->positions);
    *out = pass;
    return 0;
}

static void free_targets(struct lm_backend *backend, struct targets *targets)
{
    backend->free(backend, targets->ids);
    backend->free(backend, targets->logprob);
    backend->free(backend, targets->dlogprob);
    mem_free(targets->host_logprob);
    mem_free(targets->host_dlogprob);
    *targets = (struct targets){0};
}

void lm_pass_close(struct lm_pass *pass)
{
    if (!pass)
        return;
    struct lm_backend *backend = pass->flow.model->backend;
    backend->free(backend, pass->memory);
    free_targets(backend, &pass->targets);
    mem_free(pass->flow.all.layers);
    mem_free(pass->entropy);
    mem_free(pass->dentropy);
    mem_free(pass->collision);
    mem_free(pass->positions);
    mem_free(pass);
}

/* Checks the batch, and fills in the positions of its rows. */
static int check_batch(struct lm_pass *pass, const struct lm_batch *batch, struct err *err)
{
    size_t positions = pass->flow.model->positions, longest = 0;
    const int32_t *starts = batch->starts;
    if (batch->rows == 0 || batch->rows > pass->options.rows)
        return err_set(err, ERR_INPUT, "a batch of %zu tokens; this pass takes 1 to %zu",
                       batch->rows, pass->options.rows);
    if (batch->sequences == 0 || batch->sequences > batch->rows || starts[0] != 0 ||
        starts[batch->sequences] != (int32_t)batch->rows)
        return err_set(err, ERR_INPUT,
                       "the sequences of a batch must begin at its first token and "
                       "end at its last");
    for (size_t s = 0; s < batch->sequences; s++) {
        if (starts[s + 1] <= starts[s] || starts[s + 1] > (int32_t)batch->rows)
            return err_set(err, ERR_INPUT, "sequence %zu of a batch is empty", s);
        size_t length = (size_t)(starts[s + 1] - starts[s]);
        if (length > positions)
            return err_set(err, ERR_INPUT,
                           "sequence %zu of a batch has %zu tokens; the model has %zu positions", s,
                           length, positions);
        for (size_t i = 0; i < length; i++)
            pass->positions[(size_t)starts[s] + i] = (int32_t)i;
        longest = length > longest ? length : longest;
    }
    pass->flow.rows = batch->rows;
    pass->flow.sequences = batch->sequences;
    pass->flow.longest = longest;
    return lm_model_check_ids(pass->flow.model, batch->tokens, batch->rows, 1, "token", err);
}

/* Room for a block's targets; their number for each row is only known by now. */
static int prepare_targets(struct lm_pass *pass, size_t per_row, struct err *err)
{
    struct lm_backend *backend = pass->flow.model->backend;
    struct targets *t = &pass->targets;
    size_t capacity = pass->options.head_rows * per_row, bytes = capacity * sizeof(float);
    if (t->capacity >= capacity)
        return 0;
    free_targets(backend, t);
    int result = lm_backend_alloc(backend, bytes, "targets", (void **)&t->ids, err);
    if (result == 0)
        result = lm_backend_alloc(backend, bytes, "targets", (void **)&t->logprob, err);
    if (result == 0)
        result = lm_backend_alloc(backend, bytes, "targets", (void **)&t->dlogprob, err);
    if (result < 0) {
        free_targets(backend, t);
        return result;
    }
    t->host_logprob = mem_alloc(bytes);
    t->host_dlogprob = mem_alloc(bytes);
    t->capacity = capacity;
    return 0;
}

static int prepare(struct lm_pass *pass, const struct lm_batch *batch, const struct lm_head *head,
                   struct err *err)
{
    int result = check_batch(pass, batch, err);
    if (result < 0 || !head)
        return result;
    if (head->targets_per_row == 0 || head->targets_per_row > pass->flow.model->config.vocab)
        return err_set(err, ERR_INPUT, "%zu targets for each token", head->targets_per_row);
    if (!(head->temperature > 0))
        return err_set(err, ERR_INPUT, "a temperature of %g; it must be above 0",
                       (double)head->temperature);
    result = lm_model_check_ids(pass->flow.model, head->targets,
                                batch->rows * head->targets_per_row, head->targets_per_row,
                                "target", err);
    return result < 0 ? result : prepare_targets(pass, head->targets_per_row, err);
}

static struct lm_embed embed_of(const struct lm_flow *flow)
{
    return (struct lm_embed){.rows = flow->rows,
                             .width = flow->model->config.width,
                             .tokens = flow->all.tokens,
                             .table = flow->model->embedding->value,
                             .y = flow->all.layers[0].input,
                             .dy = flow->all.doutput,
                             .dtable = flow->model->embedding->gradient};
}

static struct lm_rmsnorm final_norm_of(const struct lm_flow *flow)
{
    return lm_stream_norm(flow, flow->model->final_norm, flow->all.output, flow->all.hidden,
                          flow->all.hidden_inverse);
}

/* From tokens to hidden rows. */
static void forward(struct lm_pass *pass, const struct lm_batch *batch)
{
    const struct lm_flow *flow = &pass->flow;
    const struct lm_activations *all = &flow->all;
    struct lm_backend *backend = flow->model->backend;
    size_t layers = flow->model->config.layers;
    struct lm_embed embed = embed_of(flow);
    struct lm_rmsnorm norm = final_norm_of(flow);
    backend->upload(backend, all->tokens, batch->tokens, batch->rows * sizeof *batch->tokens);
    backend->upload(backend, all->positions, pass->positions,
                    batch->rows * sizeof *pass->positions);
    backend->upload(backend, all->starts, batch->starts,
                    (batch->sequences + 1) * sizeof *batch->starts);
    backend->ops->embed.forward(backend, &embed);
    for (size_t i = 0; i < layers; i++)
        lm_layer_forward(flow, i, i + 1 < layers ? all->layers[i + 1].input : all->output);
    backend->ops->rmsnorm.forward(backend, &norm);
}

/* From the gradient of hidden rows (in dnormed) to those of all parameters. */
static void backward(struct lm_pass *pass)
{
    const struct lm_flow *flow = &pass->flow;
    struct lm_backend *backend = flow->model->backend;
    size_t layers = flow->model->config.layers;
    struct lm_embed embed = embed_of(flow);
    struct lm_rmsnorm norm = final_norm_of(flow);
    norm.dy = flow->all.dnormed;
    norm.dx = flow->all.doutput;
    backend->ops->rmsnorm.backward(backend, &norm);
    for (size_t i = layers; i-- > 0;) {
        /* The arrays that layers share still hold the last one's. */
        if (pass->options.recompute && i + 1 < layers)
            lm_layer_forward(flow, i, NULL);
        lm_layer_backward(flow, i);
    }
    if (embed.dtable)
        backend->ops->embed.backward(backend, &embed);
}

static void *rows_of(const struct lm_flow *flow, void *array, size_t first)
{
    const struct lm_model *model = flow->model;
    return (char *)array + first * model->config.width * lm_dtype_bytes(model->backend->dtype);
}

static bool all_zero(const float *values, size_t count)
{
    for (size_t i = 0; values && i < count; i++)
        if (values[i] != 0)
            return false;
    return true;
}

static struct lm_logprob logprob_of(const struct lm_pass *pass, const struct lm_head *head,
                                    size_t first, size_t rows, bool train)
{
    const struct lm_flow *flow = &pass->flow;
    const struct lm_activations *all = &flow->all;
    const struct lm_model *model = flow->model;
    return (struct lm_logprob){
        .rows = rows,
        .width = model->config.width,
        .vocab = model->config.vocab,
        .targets_per_row = head->targets_per_row,
        .temperature = head->temperature,
        .x = rows_of(flow, all->hidden, first),
        .weight = model->head->value,
        .targets = pass->targets.ids,
        .logits = all->logits,
        .lse = all->head_lse,
        .logprob = pass->targets.logprob,
        .entropy = head->entropy ? all->head_entropy : NULL,
        .collision = head->collision ? all->head_collision : NULL,
        .dlogprob = pass->targets.dlogprob,
        .dentropy = head->entropy ? all->head_dentropy : NULL,
        .dx = train ? rows_of(flow, all->dnormed, first) : NULL,
        .dweight = model->head->gradient,
    };
}

/* One block of the head: log-probabilities, the caller's loss, and its gradient into dnormed. */
static void head_block(struct lm_pass *pass, const struct lm_head *head, size_t first, size_t rows,
                       bool train)
{
    struct lm_backend *backend = pass->flow.model->backend;
    const struct lm_activations *all = &pass->flow.all;
    struct targets *t = &pass->targets;
    size_t count = rows * head->targets_per_row;
    struct lm_logprob op = logprob_of(pass, head, first, rows, train);
    struct lm_head_block block = {.first = first,
                                  .rows = rows,
                                  .targets_per_row = head->targets_per_row,
                                  .logprob = t->host_logprob,
                                  .entropy = head->entropy ? pass->entropy : NULL,
                                  .collision = head->collision ? pass->collision : NULL,
                                  .dlogprob = train ? t->host_dlogprob : NULL,
                                  .dentropy = train && head->entropy ? pass->dentropy : NULL};
    backend->upload(backend, t->ids, head->targets + first * head->targets_per_row,
                    count * sizeof *t->ids);
    backend->ops->logprob.forward(backend, &op);
    backend->download(backend, t->host_logprob, t->logprob, count * sizeof(float));
    if (head->entropy)
        backend->download(backend, pass->entropy, all->head_entropy, rows * sizeof(float));
    if (head->collision)
        backend->download(backend, pass->collision, all->head_collision, rows * sizeof(float));
    memset(t->host_dlogprob, 0, count * sizeof(float));
    memset(pass->dentropy, 0, rows * sizeof(float));
    head->loss(head->context, &block);
    if (!train)
        return;
    /* Prompts: most rows of some batches. */
    if (all_zero(block.dlogprob, count) && all_zero(block.dentropy, rows)) {
        size_t row = pass->flow.model->config.width * lm_dtype_bytes(backend->dtype);
        backend->zero(backend, op.dx, rows * row);
        return;
    }
    backend->upload(backend, t->dlogprob, t->host_dlogprob, count * sizeof(float));
    if (block.dentropy)
        backend->upload(backend, all->head_dentropy, pass->dentropy, rows * sizeof(float));
    backend->ops->logprob.backward(backend, &op);
}

static int run(struct lm_pass *pass, const struct lm_batch *batch, const struct lm_head *head,
               bool train, struct err *err)
{
    int result = prepare(pass, batch, head, err);
    if (result < 0)
        return result;
    forward(pass, batch);
    for (size_t first = 0; first < batch->rows; first += pass->options.head_rows) {
        size_t left = batch->rows - first;
        size_t rows = left < pass->options.head_rows ? left : pass->options.head_rows;
        head_block(pass, head, first, rows, train);
    }
    if (train)
        backward(pass);
    return lm_backend_wait(pass->flow.model->backend, err);
}

int lm_pass_score(struct lm_pass *pass, const struct lm_batch *batch, const struct lm_head *head,
                  struct err *err)
{
    return run(pass, batch, head, false, err);
}

int lm_pass_train(struct lm_pass *pass, const struct lm_batch *batch, const struct lm_head *head,
                  struct err *err)
{
    if (!pass->options.backward)
        return err_set(err, ERR_INTERNAL, "a pass that was opened for forward alone cannot train");
    return run(pass, batch, head, true, err);
}

int lm_pass_hidden(struct lm_pass *pass, const struct lm_batch *batch, float *out, struct err *err)
{
    const struct lm_model *model = pass->flow.model;
    int result = prepare(pass, batch, NULL, err);
    if (result < 0)
        return result;
    forward(pass, batch);
    lm_value_get(model->backend, pass->flow.all.hidden, 0, out, batch->rows * model->config.width);
    return lm_backend_wait(model->backend, err);
}

int lm_pass_logits(struct lm_pass *pass, const struct lm_batch *batch, float *out, struct err *err)
{
    const struct lm_flow *flow = &pass->flow;
    const struct lm_model *model = flow->model;
    struct lm_backend *backend = model->backend;
    int result = prepare(pass, batch, NULL, err);
    if (result < 0)
        return result;
    forward(pass, batch);
    for (size_t first = 0; first < batch->rows; first += pass->options.head_rows) {
        size_t left = batch->rows - first;
        size_t rows = left < pass->options.head_rows ? left : pass->options.head_rows;
        struct lm_linear linear = lm_linear_of(model->head, rows,
                                               rows_of(flow, flow->all.hidden, first),
                                               flow->all.logits);
        backend->ops->linear.forward(backend, &linear);
        lm_value_get(backend, flow->all.logits, 0, out + first * model->config.vocab,
                     rows * model->config.vocab);
    }
    return lm_backend_wait(backend, err);
}
